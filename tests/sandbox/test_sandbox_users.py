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
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from backoffice.lists import bounded_lists
from backoffice.users.user_lists import WORK_LISTS
from core.database import serving_role
from partners.models import Mode, Partner
from sandbox.simulated import made_by
from staff.models import Staff
from tests import factories
from tests.support.commands import outcome, printed
from tests.support.plans import UNORDERED, planning_of_many_users, planning_without
from tests.support.staff import client_as, client_of, words
from tests.users.deciding import case_of, decide_url, decision
from transactions.models import Conversion, Document
from users import claims
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
PAGES = ("/admin/", "/admin/exports/")


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


@pytest.fixture
def staff(db: None) -> Staff:
    return factories.StaffFactory.create(role="")


@pytest.fixture
def client(staff: Staff) -> Client:
    return client_of(staff)


@pytest.fixture
def live(staff: Staff, partner: Partner) -> Rows:
    return Rows(partner, staff)


@pytest.fixture
def sandbox_partner(db: None) -> Partner:
    """Partners and their keys are listed, with their mode."""
    return factories.PartnerFactory.create(mode=Mode.SANDBOX)


@pytest.fixture
def sandbox(sandbox_partner: Partner, staff: Staff) -> Rows:
    return Rows(sandbox_partner, staff)


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


def listed(client: Client, model: Any, query: str = "") -> set[Any]:
    return {row.pk for row in client.get(LISTS[model] + query).context["cl"].result_list}


def walk(client: Client, live: Rows, *, queries: bool = True) -> Iterator[tuple[str, Any]]:
    """What staff see in each list, figure, search, export and command that tells of users."""
    for model, path in LISTS.items():
        for query in OF_EACH + QUERIES.get(model, ()) if queries else ("",):
            yield path + query, text_of(client.get(path + query))
    for path in PAGES:
        yield path, text_of(client.get(path))
    yield "csv", exported(client.post("/admin/exports/users.csv"))
    yield "csv of a status", exported(client.post("/admin/exports/users.csv", {"status": "active"}))
    waiting = live.waiting
    case = client.get(case_of(waiting))
    yield "risk flags", [(flag.code, flag.why, flag.others) for flag in case.context["snapshot"].risk_flags]
    data = pack_of(client, waiting)[1]
    yield "evidence", {name: data[name] for name in ("user", "statusChanges", "history", "conversions", "documents")}
    users = list(live.partner.users.order_by("pk"))
    yield "number of risk flags", risk_flag_codes(users)
    yield "case in hand", claims.current_case(live.by)
    yield "next cases", [claims.next_case(staff=one) for one in factories.StaffFactory.create_batch(3)]


def seen(client: Client, live: Rows, now: datetime, *, queries: bool = True) -> dict[str, Any]:
    """The walk at one time of the service, which pages show, and nothing of what it wrote into the access log."""
    with mock.patch.object(timezone, "now", return_value=now), transaction.atomic():
        found = dict(walk(client, live, queries=queries))
        transaction.set_rollback(True)
    return found


# Others make and empty the folder that all share.
@pytest.mark.usefixtures("within_one_day", "folder")
def test_sandbox_users_change_nothing_that_staff_see_and_real_ones_do(
    client: Client, live: Rows, sandbox_partner: Partner, staff: Staff
) -> None:
    now = timezone.now()
    before = seen(client, live, now)
    Rows(sandbox_partner, staff)
    after = seen(client, live, now)
    assert before.keys() == after.keys()
    for place, shown in before.items():
        assert after[place] == shown, place
    Rows(factories.PartnerFactory.create(), staff)
    with_real_users = seen(client, live, now, queries=False)
    changed = {place for place, shown in with_real_users.items() if before[place] != shown}
    assert changed >= {
        *LISTS.values(),
        PAGES[0],
        "csv",
        "next cases",
        "number of risk flags",
    }


def test_a_list_is_of_one_mode_and_a_range_of_an_index(
    client: Client, live: Rows, sandbox: Rows, subtests: pytest.Subtests
) -> None:
    for model, path in LISTS.items():
        with subtests.test(path):
            pages = {mode: client.get(path, {"mode": mode.value}) for mode in Mode}
            rows = {mode: {row.pk for row in page.context["cl"].result_list} for mode, page in pages.items()}
            assert rows[Mode.LIVE]
            assert rows[Mode.SANDBOX]
            assert rows[Mode.LIVE].isdisjoint(rows[Mode.SANDBOX])
            assert "Sandbox: these users are not real." in text_of(pages[Mode.SANDBOX])
            manager: Any = (model if isinstance(model, type) else User)._default_manager  # type: ignore[attr-defined]
            unreal = manager.filter(pk__in=rows[Mode.SANDBOX])
            assert set(in_mode(unreal, Mode.SANDBOX)) == set(unreal)
            for mode, page in pages.items():
                assert_is_a_range_of_an_index(page.context["cl"].queryset[:51], model, mode)


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


def test_an_unknown_mode_is_the_live_one(client: Client, live: Rows, sandbox: Rows) -> None:
    for model in (User, "queue", Conversion, AccessRecord):
        live_rows = listed(client, model)
        assert live_rows == listed(client, model, "?mode=odd") == listed(client, model, "?mode=live")


def test_a_search_finds_sandbox_users_where_they_are_asked_for(client: Client, live: Rows, sandbox: Rows) -> None:
    user = sandbox.waiting
    by_id, by_email, by_pk = "same-id", "ada@example.com", str(user.pk)
    for model, terms in {
        User: (by_id, by_email, by_pk),
        "queue": (by_id, by_email),
        UserEvent: (by_email,),
        AccessRecord: (by_pk,),
    }.items():
        for term in terms:
            found = listed(client, model, f"?mode=sandbox&q={term}")
            assert found
            assert found.isdisjoint(listed(client, model, f"?q={term}"))
    assert listed(client, Conversion, "?mode=sandbox&q=cv-same") == {sandbox.conversion.pk}
    assert listed(client, Conversion, f"?mode=sandbox&q={user.pk}") == {sandbox.conversion.pk}
    assert listed(client, User, f"?q={user.pk}") == set()


def test_the_tabs_count_what_the_list_is_of(client: Client, live: Rows, sandbox: Rows) -> None:
    sandbox_tabs = client.get("/admin/users/user/queue/?mode=sandbox").context["tabs"]
    assert [tab["count"] for tab in sandbox_tabs] == ["3", "1", "1", "1"]
    assert all(tab["url"].endswith("?mode=sandbox") for tab in sandbox_tabs)


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


def test_risk_flags_of_a_sandbox_user_look_at_sandbox_users(client: Client, live: Rows, sandbox: Rows) -> None:
    flags = client.get(f"/admin/cases/{sandbox.waiting.pk}/").context["snapshot"].risk_flags
    others = {other.partner for flag in flags for other in flag.others}
    assert others == {sandbox.partner}


def test_the_next_case_is_a_real_one(sandbox: Rows, staff: Staff, partner: Partner) -> None:
    assert claims.current_case(staff) is None
    assert claims.next_case(staff=staff) is None
    real = factories.UserFactory.create(partner=partner)
    assert claims.next_case(staff=staff) == real


def test_ones_own_sandbox_cases_are_a_link_away(client: Client, live: Rows, sandbox: Rows) -> None:
    [link] = re.findall(
        r'href="([^"]*claimed=me[^"]*)"', client.get("/admin/users/user/queue/?mode=sandbox").content.decode()
    )
    rows = client.get(unescape(link)).context["cl"].result_list
    assert {row.partner for row in rows} == {sandbox.partner}
    assert len(rows) == 1


def test_a_case_of_a_sandbox_user_can_be_claimed_and_decided(client: Client, sandbox: Rows) -> None:
    user = sandbox.waiting
    page = client.post(f"/admin/cases/{user.pk}/claim/", follow=True)
    assert Claim.objects.filter(user=user).exists()
    response = client.post(
        f"/admin/cases/{user.pk}/decide/",
        {"to_status": "active", "version": str(page.context["version"]), "reason_code": "verified", "note": ""},
    )
    assert response.status_code == 302
    user.refresh_from_db()
    assert user.status == Status.ACTIVE


def test_a_case_of_a_sandbox_user_leads_to_no_real_one(client: Client, live: Rows, sandbox: Rows) -> None:
    user, queue = sandbox.waiting, "/admin/users/user/queue/?mode=sandbox"
    page = client.get(case_of(user)).content.decode()
    assert f'href="{queue}"' in page
    assert "next case" not in page.lower()
    for button in ("claim", "release"):
        response = client.post(f"{case_of(user)}{button}/")
        assert response.headers["Location"] == (queue if button == "release" else case_of(user))
    response = client.post(decide_url(user), decision(user, then="next"))
    assert response.headers["Location"] == case_of(user)


def test_actions_on_selected_sandbox_users_work(client: Client, sandbox: Rows) -> None:
    users = LISTS[User] + "?mode=sandbox"
    chosen = {"_selected_action": [str(sandbox.waiting.pk)]}
    client.post(users, {"action": "claim_selected", **chosen})
    assert Claim.objects.filter(user=sandbox.waiting).exists()


# The pages of sandbox users


def pages_of(rows: Rows) -> dict[str, str]:
    event = UserEvent.objects.filter(pgh_obj=rows.waiting.pk).first()
    assert event is not None
    endpoint = factories.WebhookEndpointFactory.create(partner=rows.partner)
    delivery = factories.WebhookDeliveryFactory.create(endpoint=endpoint)
    of_rows = [rows.decision, rows.access, rows.conversion, rows.document, rows.partner, rows.key, endpoint, delivery]
    change = {
        str(one._meta.model_name): reverse(f"admin:{one._meta.app_label}_{one._meta.model_name}_change", args=(one.pk,))
        for one in of_rows
    }
    return change | {
        "event": reverse("admin:users_userevent_change", args=(event.pk,)),
        "case": f"/admin/cases/{rows.waiting.pk}/",
        "evidence": f"/admin/cases/{rows.waiting.pk}/evidence/",
        "issue": f"/admin/partners/partner/{rows.partner.pk}/issue/",
        "rotate": f"/admin/partners/apikey/{rows.key.pk}/rotate/",
        "revoke": f"/admin/partners/apikey/{rows.key.pk}/revoke/",
    }


OF_PARTNER = {"partner", "apikey", "issue", "rotate", "revoke", "webhookendpoint", "webhookdelivery"}


def test_each_page_of_a_sandbox_user_says_so(client: Client, live: Rows, sandbox: Rows) -> None:
    for name, path in pages_of(sandbox).items():
        assert text_of(client.get(path)).count(PARTNER_BAND if name in OF_PARTNER else BAND) == 1, name
    for name, path in pages_of(live).items():
        assert "Sandbox:" not in text_of(client.get(path)), name


def test_the_name_of_the_account_is_given_to_nobody(client: Client) -> None:
    response = client.post("/admin/staff/staff/add/", {"email": "Sandbox@example.com", "role": "viewer"})
    assert "This name is reserved for simulated decisions." in text_of(response)


def test_the_account_of_simulated_decisions_is_changed_by_nobody(client: Client, sandbox: Rows) -> None:
    made_by(sandbox.waiting, "")
    account = Staff.objects.get(username=Staff.SANDBOX)
    before = Staff.objects.filter(pk=account.pk).values().get()
    # It is not among the accounts that staff see.
    for act in ("change", "invite_again", "reset_second_factor", "end_sessions", "disable", "enable"):
        form = {"reason": "Seen.", "email": "mine@example.com"}
        response = client.post(f"/admin/staff/staff/{account.pk}/{act}/", form, follow=True)
        assert response.status_code in {200, 403, 404}
    assert Staff.objects.filter(pk=account.pk).values().get() == before


def test_an_evidence_pack_says_so(client: Client, live: Rows, sandbox: Rows) -> None:
    page, data = pack_of(client, sandbox.waiting)
    assert BAND in page
    assert data["user"]["mode"] == "sandbox"
    page, data = pack_of(client, live.waiting)
    assert BAND not in page
    assert data["user"]["mode"] == "live"


def test_partners_are_listed_with_their_mode(client: Client, live: Rows, sandbox: Rows) -> None:
    by_slug = {one["slug"]: one["mode"] for one in outcome("list_partners")["partners"]}
    assert by_slug == {live.partner.slug: "live", sandbox.partner.slug: "sandbox"}
    assert "sandbox" in printed("list_partners")


def test_the_mode_of_a_partner_is_chosen_once(sandbox_partner: Partner) -> None:
    manager = client_as("partner-manager")
    manager.post("/admin/partners/partner/add/", {"slug": "tried", "name": "Tried", "mode": "sandbox", "enabled": "on"})
    tried = Partner.objects.get(slug="tried")
    assert tried.mode == Mode.SANDBOX
    manager.post(f"/admin/partners/partner/{tried.pk}/change/", {"name": "New", "mode": "live", "enabled": "on"})
    tried.refresh_from_db()
    assert (tried.name, tried.mode) == ("New", Mode.SANDBOX)


# Bounds


def test_sandbox_rows_at_the_head_of_the_access_log_are_examined_in_parts(
    client: Client, live: Rows, sandbox: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = listed(client, AccessRecord)
    head = set(AccessRecord.objects.order_by("-pk").values_list("pk", flat=True)[:1])
    assert head.isdisjoint(everything)
    monkeypatch.setattr(bounded_lists, "MAX_EXAMINED_ROWS", 1)
    found, query, parts = set(), "", 0
    while parts == 0 or query:
        page = client.get(LISTS[AccessRecord] + query)
        changelist = page.context["cl"]
        found |= {row.pk for row in changelist.result_list}
        assert parts or "Only a part of the list was examined." in page.content.decode()
        query, parts = changelist.next_page, parts + 1
    assert found == everything
    assert parts > len(everything)


def test_rows_of_the_other_mode_are_not_examined(
    client: Client, live: Rows, sandbox: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_lists, "MAX_EXAMINED_ROWS", 1)
    models: tuple[Any, ...] = (StatusChange, UserEvent, Conversion, Document)
    for model, mode in itertools.product(models, Mode):
        changelist = client.get(LISTS[model], {"mode": mode.value}).context["cl"]
        assert {row.pk for row in changelist.result_list} == {row.pk for row in in_mode(model.objects.all(), mode)}
        assert not changelist.is_partial


@pytest.mark.django_db(databases=[serving_role.SERVING, serving_role.OWNER])
def test_the_same_person_is_found_by_an_index_in_each_mode() -> None:
    users: Callable[..., Any] = in_mode
    with planning_of_many_users():
        for mode in Mode:
            same = User.objects.using(serving_role.OWNER).extra(where=["lower(email) = 'ada@example.com'"])
            assert "user_email_prefix" in users(same, mode).explain()
