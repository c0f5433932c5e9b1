"""Sandbox users in the back office: nowhere unless they are asked for, and marked wherever they are."""

import csv
import io
import itertools
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime
from html import unescape
from typing import Any
from unittest import mock

import pytest
from django.contrib import admin
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.urls import resolve, reverse
from django.utils import timezone

from backoffice.lists import bounded_lists
from backoffice.users.user_lists import WORK_LISTS
from core.database import serving_role
from partners.models import Mode, Partner
from sandbox.simulated import made_by
from staff.models import Staff
from tests import factories
from tests.support.commands import outcome, printed
from tests.support.database import undone
from tests.support.plans import UNORDERED, planning_of_many_users, planning_without
from tests.support.staff import client_as, client_of, words
from tests.users.deciding import case_of, decide_url, decision
from transactions.models import Conversion, Document
from users import claims
from users.decisions.decision_basis import snapshot_for
from users.decisions.risk_flags import risk_flag_codes
from users.models import AccessRecord, Claim, FileEntry, Proposal, Status, StatusChange, User, UserEvent
from users.models.case import in_mode

BAND, PARTNER_BAND = "Sandbox: this user is not real.", "Sandbox: the users of this partner are not real."

# The lists of models whose rows belong to users, and the work lists. Sandbox users have no proposals: their moves take
# one person. Lists of files are of kinds (tests/backoffice/case/test_file.py).
LISTS: dict[Any, str] = {name: reverse(f"admin:users_user_{name}") for name in WORK_LISTS} | {
    model: reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    for model in admin.site._registry
    if model not in {Proposal, FileEntry}
    and (
        model is User
        or any(field.related_model is User for field in model._meta.get_fields() if not field.auto_created)
    )
}
OF_EACH = ("", "?q=same-id")
# Searches and filters of some lists.
QUERIES: dict[Any, tuple[str, ...]] = {
    User: ("?q=Ada", "?country=CA", "?status__exact=active"),
    "queue": ("?q=Ada", "?country=CA", "?claimed=me", "?flags=yes"),
    Conversion: ("?q=cv-same", "?q=same-id"),
}
# Pages with figures of all users.
PAGES = ("/admin/", "/admin/exports/", LISTS["queue"])


class Rows:
    """Users of a partner in each place of the back office, alike but for the partner."""

    def __init__(self, partner: Partner, by: Staff) -> None:
        self.partner, self.by = partner, by
        self.waiting = self._user("same-id")
        claims.claim(user=self._user("claimed"), staff=by)
        for status in (Status.ACTIVE, Status.REJECTED):
            user = self._user(f"same-{status.value}")
            self.decision = factories.StatusChangeFactory.create(user=user, to_status=status, by=by)
        self.changed = self._user("changed")
        factories.StatusChangeFactory.create(user=self.changed, by=by)
        User.objects.filter(pk=self.changed.pk).update(first_name="Augusta", name_key="augusta byron")
        for external_id in ("asked", "answered"):
            requirement = factories.RequirementFactory.create(user=self._user(external_id), by=by)
            if external_id == "answered":
                factories.answer(requirement)
        self.conversion = factories.ConversionFactory.create(user=self.waiting, conversion_id="cv-same")
        self.document = factories.DocumentFactory.create(user=self.waiting)
        self.access = factories.AccessRecordFactory.create(user=self.waiting, staff=by)
        self.key = factories.ApiKeyFactory.create(partner=partner)

    def _user(self, external_id: str) -> User:
        return factories.UserFactory.create(partner=self.partner, external_id=external_id)


@pytest.fixture(scope="module")
def rows(django_db_setup: None, django_db_blocker: Any) -> Iterator[dict[Mode, Rows]]:
    """Of each mode, committed, those of sandbox users before: what takes the oldest of all takes one of these."""
    with django_db_blocker.unblock():
        staff = factories.StaffFactory.create(role="")
        yield {mode: Rows(factories.PartnerFactory.create(mode=mode), staff) for mode in (Mode.SANDBOX, Mode.LIVE)}


@pytest.fixture
def live(db: None, rows: dict[Mode, Rows]) -> Rows:
    return rows[Mode.LIVE]


@pytest.fixture
def sandbox(db: None, rows: dict[Mode, Rows]) -> Rows:
    return rows[Mode.SANDBOX]


@pytest.fixture
def staff(live: Rows) -> Staff:
    return live.by


@pytest.fixture
def client(staff: Staff) -> Client:
    return client_of(staff)


def text_of(response: Any) -> str:
    assert response.status_code == 200, response
    return words(response.content.decode())


def exported(response: Any) -> str:
    return b"".join(response.streaming_content).decode()


def pack_of(client: Client, user: User) -> tuple[str, dict[str, Any]]:
    response: Any = client.post(f"/admin/cases/{user.pk}/evidence/")
    content = b"".join(response.streaming_content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        data = json.loads(archive.read("data.json"))
        return archive.read("index.html").decode(), data


def admin_of(model: Any) -> Any:
    return admin.site.get_model_admin(model if isinstance(model, type) else User)


def changelist(staff: Staff, model: Any, query: str = "") -> Any:
    """What the page of the list shows of it."""
    request: Any = RequestFactory().get(LISTS[model] + query)
    request.user, request.resolver_match = staff, resolve(LISTS[model])
    return admin_of(model).get_changelist_instance(request)


def listed(staff: Staff, model: Any, query: str = "") -> set[Any]:
    return {row.pk for row in changelist(staff, model, query).result_list}


def walk(client: Client, live: Rows) -> Iterator[tuple[str, Any]]:
    """What staff see in each list, figure, search, export and command that tells of users."""
    for model, path in LISTS.items():
        for query in OF_EACH + QUERIES.get(model, ()):
            found = changelist(live.by, model, query)
            shown = [(row.pk, getattr(row, "flag_codes", None)) for row in found.result_list]
            yield path + query, (shown, found.total)
    for path in PAGES:
        yield f"page {path}", text_of(client.get(path))
    yield "csv", exported(client.post("/admin/exports/users.csv"))
    yield "csv of a status", exported(client.post("/admin/exports/users.csv", {"status": "active"}))
    yield "risk flags", [(flag.code, flag.why, flag.others) for flag in snapshot_for(live.by, live.waiting).risk_flags]
    users = list(live.partner.users.order_by("pk"))
    yield "number of risk flags", risk_flag_codes(users)
    yield "case in hand", claims.current_case(live.by)
    yield "next cases", [claims.next_case(staff=one) for one in factories.StaffFactory.create_batch(3)]


def seen(client: Client, live: Rows, now: datetime) -> dict[str, Any]:
    """The walk at one time of the service, which pages show, and nothing of what it wrote into the access log."""
    with mock.patch.object(timezone, "now", return_value=now), undone():
        return dict(walk(client, live))


@pytest.mark.usefixtures("within_one_day")
def test_sandbox_users_change_nothing_that_staff_see_and_real_ones_do(client: Client, live: Rows, staff: Staff) -> None:
    # Whose names forms offer.
    of_sandbox, of_live = (factories.PartnerFactory.create(mode=mode) for mode in (Mode.SANDBOX, Mode.LIVE))
    now = timezone.now()
    before = seen(client, live, now)
    Rows(of_sandbox, staff)
    after = seen(client, live, now)
    assert before.keys() == after.keys()
    for place, shown in before.items():
        assert after[place] == shown, place
    Rows(of_live, staff)
    with_real_users = seen(client, live, now)
    changed = {place for place, shown in with_real_users.items() if before[place] != shown}
    assert changed >= {*LISTS.values(), f"page {PAGES[0]}", "csv", "next cases", "number of risk flags"}


def test_a_list_is_of_one_mode_and_a_range_of_an_index(
    staff: Staff, live: Rows, sandbox: Rows, subtests: pytest.Subtests
) -> None:
    for (model, path), mode in itertools.product(LISTS.items(), Mode):
        with subtests.test(path, mode=mode.value):
            found = changelist(staff, model, f"?mode={mode.value}")
            shown = {row.pk for row in found.result_list}
            assert shown
            assert {row.pk for row in in_mode(admin_of(model).model._default_manager.all(), mode)} >= shown
            assert_is_a_range_of_an_index(found.queryset[:51], model, mode)


def test_a_list_of_sandbox_users_says_so(client: Client, sandbox: Rows) -> None:
    for path in {admin_of(model).change_list_template: path for model, path in LISTS.items()}.values():
        assert "Sandbox: these users are not real." in text_of(client.get(f"{path}?mode=sandbox")), path


def assert_is_a_range_of_an_index(rows: Any, model: Any, mode: Mode) -> None:
    with planning_without(*UNORDERED):
        plan = rows.explain()
    assert "Sort" not in plan
    if model is User or model in WORK_LISTS:
        assert re.search(rf"Index Cond: \(.*is_sandbox = {'true' if mode == Mode.SANDBOX else 'false'}", plan)
    elif model is not AccessRecord:
        assert re.search(rf"Index Scan Backward using \w+_{mode.value} on {model._meta.db_table}", plan)
        # A join may have one of its own.
        assert not re.search(r"^\s*Filter:", plan, re.MULTILINE)


def test_an_unknown_mode_is_the_live_one(staff: Staff, live: Rows, sandbox: Rows) -> None:
    for model in (User, "queue", Conversion, AccessRecord):
        live_rows = listed(staff, model)
        assert live_rows == listed(staff, model, "?mode=odd") == listed(staff, model, "?mode=live")


def test_a_search_finds_sandbox_users_where_they_are_asked_for(staff: Staff, live: Rows, sandbox: Rows) -> None:
    user = sandbox.waiting
    by_id, by_email, by_pk = "same-id", "ada@example.com", str(user.pk)
    for model, terms in {
        User: (by_id, by_email, by_pk),
        "queue": (by_id, by_email),
        UserEvent: (by_email,),
        AccessRecord: (by_pk,),
    }.items():
        for term in terms:
            found = listed(staff, model, f"?mode=sandbox&q={term}")
            assert found, (model, term)
            assert found.isdisjoint(listed(staff, model, f"?q={term}")), (model, term)
    assert listed(staff, Conversion, "?mode=sandbox&q=cv-same") == {sandbox.conversion.pk}
    assert listed(staff, Conversion, f"?mode=sandbox&q={user.pk}") == {sandbox.conversion.pk}
    assert listed(staff, User, f"?q={user.pk}") == set()


def test_the_tabs_and_ones_own_cases_are_of_the_lists_mode(
    client: Client, staff: Staff, live: Rows, sandbox: Rows
) -> None:
    page: Any = client.get("/admin/users/user/queue/?mode=sandbox")
    assert [tab["count"] for tab in page.context["tabs"]] == ["3", "1", "1", "1"]
    assert all(tab["url"].endswith("?mode=sandbox") for tab in page.context["tabs"])
    [link] = re.findall(r'href="([^"]*claimed=me[^"]*)"', page.content.decode())
    [row] = changelist(staff, "queue", unescape(link).removeprefix(LISTS["queue"])).result_list
    assert row.partner == sandbox.partner


def test_sandbox_users_are_exported_where_they_are_asked_for(client: Client, live: Rows, sandbox: Rows) -> None:
    def users(**form: str) -> set[tuple[str, str]]:
        lines = exported(client.post("/admin/exports/users.csv", form)).splitlines()
        return {(user["partner"], user["mode"]) for user in csv.DictReader(lines)}

    assert users() == users(mode="live") == {(live.partner.slug, "live")}
    assert users(mode="sandbox") == {(sandbox.partner.slug, "sandbox")}
    assert users(mode="sandbox", partner=sandbox.partner.slug) == {(sandbox.partner.slug, "sandbox")}
    response = client.post("/admin/exports/users.csv", {"partner": sandbox.partner.slug})
    assert "This partner is of another mode." in response.content.decode()
    details = AccessRecord.objects.filter(user=None).order_by("id").values_list("detail", flat=True)
    assert [detail.partition(": ")[2] for detail in details][:3] == ["all", "all", "mode sandbox"]


def test_risk_flags_of_a_sandbox_user_look_at_sandbox_users(live: Rows, sandbox: Rows) -> None:
    others = {other.partner for flag in snapshot_for(live.by, sandbox.waiting).risk_flags for other in flag.others}
    assert others == {sandbox.partner}


def test_the_case_in_hand_and_the_next_one_are_real_ones(live: Rows, sandbox: Rows) -> None:
    staff = factories.StaffFactory.create()
    claims.claim(user=sandbox.waiting, staff=staff)
    assert claims.current_case(staff) is None
    assert claims.next_case(staff=staff) == live.waiting


def test_a_case_of_a_sandbox_user_can_be_claimed_and_decided_and_leads_to_no_real_one(
    client: Client, live: Rows, sandbox: Rows
) -> None:
    user, queue = sandbox.waiting, "/admin/users/user/queue/?mode=sandbox"
    page = client.get(case_of(user)).content.decode()
    assert f'href="{queue}"' in page
    assert "next case" not in page.lower()
    assert client.post(f"{case_of(user)}claim/").headers["Location"] == case_of(user)
    assert Claim.objects.filter(user=user).exists()
    assert client.post(f"{case_of(user)}release/").headers["Location"] == queue
    assert client.post(decide_url(user), decision(user, then="next")).headers["Location"] == case_of(user)
    assert User.objects.get(pk=user.pk).status == Status.ACTIVE


def test_actions_on_selected_sandbox_users_work(client: Client, sandbox: Rows) -> None:
    users = LISTS[User] + "?mode=sandbox"
    chosen = {"_selected_action": [str(sandbox.waiting.pk)]}
    client.post(users, {"action": "claim_selected", **chosen})
    assert Claim.objects.filter(user=sandbox.waiting).exists()


# The pages of sandbox users


def test_rows_of_sandbox_users_and_partners_have_a_band(live: Rows, sandbox: Rows) -> None:
    def bands(rows: Rows) -> dict[str, str]:
        endpoint = factories.WebhookEndpointFactory.create(partner=rows.partner)
        delivery = factories.WebhookDeliveryFactory.create(endpoint=endpoint)
        of_rows = [
            rows.decision,
            rows.access,
            rows.conversion,
            rows.document,
            rows.partner,
            rows.key,
            endpoint,
            delivery,
        ]
        of_rows += [rows.waiting, UserEvent.objects.filter(pgh_obj=rows.waiting.pk).latest("pgh_id")]
        template = "backoffice/sandbox_band.html"
        return {type(row).__name__: words(render_to_string(template, {"row": row})) for row in of_rows}

    of_partner = {"Partner", "ApiKey", "WebhookEndpoint", "WebhookDelivery"}
    found = bands(sandbox)
    assert found == {name: PARTNER_BAND if name in of_partner else BAND for name in found}
    assert bands(live) == dict.fromkeys(found, "")


def test_each_kind_of_page_has_the_band_of_its_row(client: Client, live: Rows, sandbox: Rows) -> None:
    case = case_of(sandbox.waiting)
    for path, band in {
        case: BAND,
        f"{case}evidence/": BAND,
        reverse("admin:transactions_conversion_change", args=(sandbox.conversion.pk,)): BAND,
        f"/admin/partners/partner/{sandbox.partner.pk}/issue/": PARTNER_BAND,
    }.items():
        assert text_of(client.get(path)).count(band) == 1, path
    assert "Sandbox:" not in text_of(client.get(case_of(live.waiting)))


def test_the_account_of_simulated_decisions_is_changed_by_nobody(client: Client, sandbox: Rows) -> None:
    made_by(sandbox.waiting, "")
    account = Staff.objects.get(username=Staff.SANDBOX)
    before = Staff.objects.filter(pk=account.pk).values().get()
    # It is not among the accounts that staff see.
    for act in ("change", "invite_again", "reset_second_factor", "end_sessions", "disable", "enable"):
        form = {"reason": "Seen.", "email": "mine@example.com"}
        assert client.post(f"/admin/staff/staff/{account.pk}/{act}/", form).status_code in {302, 403, 404}, act
    assert Staff.objects.filter(pk=account.pk).values().get() == before


# Others make and empty the folder that all share.
@pytest.mark.usefixtures("folder")
def test_an_evidence_pack_says_so_and_is_of_its_user(client: Client, live: Rows, sandbox: Rows) -> None:
    for mode, rows in {"sandbox": sandbox, "live": live}.items():
        page, data = pack_of(client, rows.waiting)
        assert (BAND in page) == (mode == "sandbox")
        assert (data["user"]["mode"], data["user"]["partner"]) == (mode, rows.partner.slug)
        of_user = {name: len(data[name]) for name in ("statusChanges", "history", "conversions", "documents")}
        assert of_user == {"statusChanges": 0, "history": 1, "conversions": 1, "documents": 1}


def test_partners_are_listed_with_their_mode(client: Client, live: Rows, sandbox: Rows) -> None:
    by_slug = {one["slug"]: one["mode"] for one in outcome("list_partners")["partners"]}
    assert by_slug == {live.partner.slug: "live", sandbox.partner.slug: "sandbox"}
    assert "sandbox" in printed("list_partners")


def test_the_mode_of_a_partner_is_chosen_once(db: None) -> None:
    manager = client_as("partner-manager")
    manager.post("/admin/partners/partner/add/", {"slug": "tried", "name": "Tried", "mode": "sandbox", "enabled": "on"})
    tried = Partner.objects.get(slug="tried")
    assert tried.mode == Mode.SANDBOX
    manager.post(f"/admin/partners/partner/{tried.pk}/change/", {"name": "New", "mode": "live", "enabled": "on"})
    tried.refresh_from_db()
    assert (tried.name, tried.mode) == ("New", Mode.SANDBOX)


# Bounds


def test_sandbox_rows_at_the_head_of_the_access_log_are_examined_in_parts(
    client: Client, staff: Staff, live: Rows, sandbox: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = listed(staff, AccessRecord)
    factories.AccessRecordFactory.create(user=sandbox.waiting)
    monkeypatch.setattr(bounded_lists, "MAX_EXAMINED_ROWS", 1)
    page = client.get(LISTS[AccessRecord])
    assert "Only a part of the list was examined." in page.content.decode()
    part = page.context["cl"]
    found, parts = {row.pk for row in part.result_list}, 1
    assert not found
    while part.next_page:
        part, parts = changelist(staff, AccessRecord, part.next_page), parts + 1
        found |= {row.pk for row in part.result_list}
    assert found == everything
    assert parts > len(everything)


def test_rows_of_the_other_mode_are_not_examined(
    staff: Staff, live: Rows, sandbox: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_lists, "MAX_EXAMINED_ROWS", 1)
    models: tuple[Any, ...] = (StatusChange, UserEvent, Conversion, Document)
    for model, mode in itertools.product(models, Mode):
        found = changelist(staff, model, f"?mode={mode.value}")
        assert {row.pk for row in found.result_list} == {row.pk for row in in_mode(model.objects.all(), mode)}
        assert not found.is_partial


@pytest.mark.django_db(databases=[serving_role.SERVING, serving_role.OWNER])
def test_the_same_person_is_found_by_an_index_in_each_mode() -> None:
    users: Callable[..., Any] = in_mode
    with planning_of_many_users():
        for mode in Mode:
            same = User.objects.using(serving_role.OWNER).extra(where=["lower(email) = 'ada@example.com'"])
            assert "user_email_prefix" in users(same, mode).explain()
