"""Asking a partner from the case page, its answer on the case, and closing: contract, section 13."""

import json
import re
import time
import zipfile
from collections.abc import Callable
from datetime import datetime, timedelta
from html import unescape
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone, translation

from backoffice.case import page as case_page
from backoffice.case import requirements, timeline
from backoffice.case.requirements import TEMPLATES
from staff.models import Staff
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.staff import client_as, client_of, hidden_version, words
from tests.users.deciding import case_of, decide_url, decision, page_of, shown_version
from users import claims
from users.models import Claim, Requirement, RequirementClosure, RequirementCode, Status, StatusChange, User
from users.models.requirements import MESSAGE_LENGTH
from users.requirements import check_message, close_requirement

MESSAGE = "Please confirm the street."
ANSWER = {"addressLine1": "1 Elgin St", "postalCode": "M5X 1A9"}


@pytest.fixture
def client(reviewer: Staff) -> Client:
    return client_of(reviewer)


def ask(client: Client, user: User, *, version: str | None = None, **fields: Any) -> Any:
    """Send the form of the dialog, in its first step unless `step` says otherwise; `send` confirms what that showed."""
    shown = shown_version(user) if version is None else version
    form = {"version": shown, "code": "addressUnclear", "fields_asked": ["address_line1", "postal_code"]}
    form |= {"message": MESSAGE, "due_in_days": "14", "then": "stay"} | fields
    if form.get("step") == "send" and "confirmed" not in form:
        form["confirmed"] = confirmation_in(client.post(f"{case_of(user)}ask/", form | {"step": "preview"}))
    return client.post(f"{case_of(user)}ask/", form)


def confirmation_in(response: Any) -> str:
    """What the second step sends back of what it showed; empty where it is not shown."""
    found = re.search(r'name="confirmed" value="([^"]+)"', response.content.decode())
    return unescape(found[1]) if found else ""


def close(client: Client, requirement: Requirement, **fields: str) -> Any:
    path = f"{case_of(requirement.user)}requirement/close/"
    version = shown_version(requirement.user)
    return client.post(path, {"requirement": str(requirement.pk), "version": version} | fields)


def panel(client: Client, user: User) -> str:
    """The words of the panel; empty without one."""
    found = re.search(
        r'<section class="case-card case-card--requirements".*?</section>', page_of(client, user), re.DOTALL
    )
    return unescape(words(found[0])) if found else ""


def preview_of(response: Any) -> dict[str, str]:
    """What the second step says that the partner will read, by the name of the member."""
    found = re.search(r'<dl class="case-preview".*?</dl>', response.content.decode(), re.DOTALL)
    assert found
    rows = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", found[0], re.DOTALL)
    return {words(name): unescape(words(value)) for name, value in rows}


# Asking


def test_the_second_step_shows_what_the_partner_then_reads(client: Client, user: User, api: PartnerClient) -> None:
    first = ask(client, user, due_in_days="7")
    assert first.status_code == 200
    shown = preview_of(first)
    assert not Requirement.objects.exists()

    sent = ask(client, user, due_in_days="7", step="send")

    assert sent.headers["Location"] == case_of(user)
    [read] = api.get("/v1/users/ada").json()["requirements"]
    assert shown["code"] == read["code"] == "addressUnclear"
    assert shown["fields"] == "addressLine1 , postalCode"
    assert read["fields"] == ["addressLine1", "postalCode"]
    assert shown["message"] == read["message"] == MESSAGE
    assert shown["dueAt"][:10] == read["dueAt"][:10]
    requirement = Requirement.objects.get()
    assert requirement.due_at - requirement.created_at == timedelta(days=7)


@pytest.mark.parametrize(
    "changed",
    [
        {"confirmed": ""},
        {"confirmed": "made up"},
        {"message": "Another message."},
        {"fields_asked": ["postal_code"]},
        {"code": "other"},
        {"due_in_days": "7"},
    ],
)
def test_nothing_is_sent_but_what_the_second_step_showed(client: Client, user: User, changed: dict[str, Any]) -> None:
    signed = {"confirmed": confirmation_in(ask(client, user))}
    response = ask(client, user, step="send", **signed | changed)
    assert response.status_code == 409
    assert "See what the partner will read before you send it" in response.content.decode()
    assert not Requirement.objects.exists()


def test_a_second_step_is_of_one_person_and_one_user_and_lasts_fifteen_minutes(
    client: Client, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed = confirmation_in(ask(client, user))
    colleague = client_of(factories.StaffFactory.create(role="reviewer"))
    assert ask(colleague, user, step="send", confirmed=signed).status_code == 409
    assert ask(client, factories.UserFactory.create(), step="send", confirmed=signed).status_code == 409
    with monkeypatch.context() as later:
        now = time.time() + 15 * 60 + 1
        later.setattr("django.core.signing.time", SimpleNamespace(time=lambda: now))
        assert ask(client, user, step="send", confirmed=signed).status_code == 409
    assert not Requirement.objects.exists()
    assert ask(client, user, step="send", confirmed=signed).status_code == 302


def test_the_second_step_says_when_the_answer_is_due_in_the_time_zone_of_the_page(client: Client, user: User) -> None:
    shown = ask(client, user).content.decode().partition('class="case-preview"')[2].partition("</dialog>")[0]
    assert re.search(r"<code>\d{4}-\d\d-\d\dT[0-9:.]+Z</code>", shown)
    assert re.search(r"due\s+<time[^>]*>[A-Z][^<]* E[SD]T</time>", shown)


def test_the_second_step_can_be_edited(client: Client, user: User) -> None:
    response = ask(client, user, step="edit", code="emailUnclear", fields_asked=["email"])
    page = response.content.decode()
    assert f">\n{MESSAGE}</textarea>" in page
    assert re.search(r'value="emailUnclear"[^>]* checked', page)
    assert re.search(r'value="email"[^>]* checked', page)
    assert not Requirement.objects.exists()


@pytest.mark.parametrize("code", RequirementCode.values)
def test_each_code_has_a_template_that_may_be_sent(client: Client, user: User, code: str) -> None:
    template = TEMPLATES[RequirementCode(code)]
    check_message(template.message)
    templates = json.loads(client.get(case_of(user)).context["ask_templates"])
    assert templates[code] == {"message": template.message, "meaning": "", "fields": [*template.fields]}


@pytest.mark.parametrize("step", ["preview", "send"])
def test_a_word_that_tells_of_a_suspicion_is_refused_in_both_steps(client: Client, user: User, step: str) -> None:
    response = ask(client, user, step=step, message="We suspended it for fraud.")
    assert response.status_code == 422
    page = unescape(response.content.decode())
    assert "The partner must not learn of a suspicion: leave out" in page
    # It is the only element that asks for the focus.
    assert re.findall(r"<(\w+)[^>]* autofocus", page.partition('<article class="case"')[2]) == ["textarea"]
    assert not Requirement.objects.exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"code": ""},
        {"code": "none"},
        {"fields_asked": ["status"]},
        {"due_in_days": "90"},
        {"due_in_days": ""},
        {"message": "x" * (MESSAGE_LENGTH + 1)},
        {"message": "a\0b"},
    ],
)
def test_what_no_partner_is_asked_is_refused(client: Client, user: User, wrong: dict[str, Any]) -> None:
    response = ask(client, user, step="send", **wrong)
    assert response.status_code == 422
    assert "case-error" in response.content.decode()
    assert not Requirement.objects.exists()


def test_asking_ends_the_claim_and_leads_to_the_next_case(
    client: Client, user: User, reviewer: Staff, create_user: Callable[..., Response]
) -> None:
    claims.claim(user=user, staff=reviewer)
    following = create_user().json()["userId"]
    response = ask(client, user, step="send", then="next")
    assert response.headers["Location"] == f"/admin/cases/{following}/"
    assert not Claim.objects.filter(user=user).exists()


def test_a_case_that_somebody_else_has_claimed_is_left_alone(client: Client, user: User) -> None:
    version = hidden_version(page_of(client, user), "/ask/")
    confirmed = confirmation_in(ask(client, user, code="other", fields_asked=[], message="", due_in_days="7"))
    requirement = factories.RequirementFactory.create(user=user)
    other = factories.StaffFactory.create(role="reviewer")
    claims.claim(user=user, staff=other)
    page = page_of(client, user)
    assert 'href="#ask"' not in page
    assert "/requirement/close/" not in page
    for path, form in {
        "ask": {"version": version, "code": "other", "due_in_days": "7", "step": "send", "confirmed": confirmed},
        "requirement/close": {"version": version, "requirement": str(requirement.pk)},
    }.items():
        response = client.post(f"{case_of(user)}{path}/", form)
        assert response.status_code == 409
        assert f"{other.username} has claimed this case." in response.content.decode()
    assert Requirement.objects.get() == requirement
    assert not RequirementClosure.objects.exists()


def test_a_change_between_the_steps_is_noticed(client: Client, user: User, api: PartnerClient) -> None:
    version = hidden_version(page_of(client, user), "/ask/")
    api.patch("/v1/users/ada", {"city": "Ottawa"})
    second = ask(client, user, version=version).content.decode()
    kept = hidden_version(second, "/ask/")
    assert kept == version
    response = ask(client, user, version=kept, step="send")
    assert response.status_code == 409
    assert "The partner changed <strong>City</strong>" in response.content.decode()
    assert not Requirement.objects.exists()


@pytest.mark.parametrize("status", [Status.REJECTED, Status.CLOSED])
def test_nothing_is_asked_about_who_is_rejected_or_closed(client: Client, user: User, status: Status) -> None:
    factories.decide(user, status)
    assert 'href="#ask"' not in page_of(client, user)
    user.refresh_from_db()
    response = ask(client, user, version=client.get(case_of(user)).context["version"], step="send")
    assert response.status_code == 409
    assert f"Nothing is asked about a user who is {status.value}." in response.content.decode()


def test_a_reload_of_the_address_leads_to_the_case(client: Client, user: User) -> None:
    for path in ("ask", "requirement/close"):
        assert client.get(f"{case_of(user)}{path}/").headers["Location"] == case_of(user)


# On the case


def test_the_case_says_what_waits(client: Client, user: User, reviewer: Staff) -> None:
    assert not panel(client, user)
    factories.RequirementFactory.create(user=user, by=reviewer, message=MESSAGE)
    shown = panel(client, user)
    for said in ("Address unclear", "Open", reviewer.username, MESSAGE, "addressLine1", "postalCode", "due "):
        assert said in shown
    assert "Waiting for the partner" in words(page_of(client, user))
    assert "Overdue" not in shown


def test_an_overdue_one_is_marked(client: Client, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    factories.RequirementFactory.create(user=user, due_in_days=1)
    late = timezone.now() + timedelta(days=2)

    class Later:
        @staticmethod
        def now() -> datetime:
            return late

    for module in (requirements, case_page):
        monkeypatch.setattr(module, "timezone", Later)
    assert "Overdue" in panel(client, user)
    assert "Waiting for the partner: overdue" in words(page_of(client, user))


def test_an_answer_stands_with_the_values_before_and_now(client: Client, user: User, api: PartnerClient) -> None:
    factories.RequirementFactory.create(user=user, fields=("address_line1", "postal_code"))
    assert api.patch("/v1/users/ada", ANSWER).status == 200
    shown = panel(client, user)
    assert "Answered by an update" in shown
    assert "Address 100 King St W 1 Elgin St" in shown
    assert "Postal code M5X 1A9 M5X 1A9 confirmed" in shown
    assert user.partner.slug in shown
    assert "The partner has answered" in words(page_of(client, user))


def test_a_note_of_the_partner_is_text(client: Client, user: User, api: PartnerClient) -> None:
    requirement = factories.RequirementFactory.create(user=user, code="purposeOfUse", fields=())
    path = f"/v1/users/ada/requirements/{requirement.pk}/response"
    assert api.post(path, {"note": "For rent.\n<b>Paid</b> monthly."}).status == 200
    assert "For rent. <b>Paid</b> monthly." in panel(client, user)
    assert "For rent.<br>&lt;b&gt;Paid&lt;/b&gt; monthly." in page_of(client, user)


def test_only_the_latest_notes_are_shown(client: Client, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "MAX_RESPONSES", 2)
    requirement = factories.RequirementFactory.create(user=user)
    for number in range(3):
        factories.answer(requirement, f"Note {number}.")
    shown = panel(client, user)
    assert re.findall(r"Note \d\.", shown) == ["Note 2.", "Note 1."]


def test_who_does_not_see_identity_sees_no_values_of_it(user: User, api: PartnerClient, reviewer: Staff) -> None:
    factories.RequirementFactory.create(user=user, fields=("address_line1", "occupation"))
    assert api.patch("/v1/users/ada", {"addressLine1": "1 Elgin St", "occupation": "Nurse"}).status == 200
    found = requirements.requirements_of(User.objects.get(pk=user.pk), reviewer)
    assert {change.column for one in found for answer in one["responses"] for change in answer["fields"]} == {
        "address_line1",
        "occupation",
    }
    other: Any = factories.StaffFactory.create(role="viewer")
    other.has_perm = lambda name: name in {requirements.PERMISSION, "users.view_userevent"}
    [cut] = requirements.requirements_of(User.objects.get(pk=user.pk), other)
    assert [change.column for answer in cut["responses"] for change in answer["fields"]] == ["occupation"]
    assert cut["is_cut"]


def test_a_viewer_sees_none_of_it(user: User) -> None:
    factories.answer(factories.RequirementFactory.create(user=user, message=MESSAGE), "For rent.")
    page = page_of(client_as("viewer"), user)
    assert MESSAGE not in page
    assert "For rent." not in page


# Deciding


def test_while_one_is_open_approving_says_what_to_do(client: Client, user: User) -> None:
    form = decision(user)
    factories.RequirementFactory.create(user=user)
    said = "1 requirement is open: wait for the partner's answer, or close it first."
    page = unescape(page_of(client, user))
    assert re.search(r"<button[^>]*disabled[^>]*>Approve</button>", page)
    assert 'id="decide-active"' not in page
    assert said in page
    response = client.post(decide_url(user), form)
    assert response.status_code == 409
    assert said in unescape(response.content.decode())
    assert not StatusChange.objects.exists()


def test_a_decision_on_a_page_from_before_the_answer_says_that_the_partner_has_answered(
    client: Client, user: User
) -> None:
    requirement = factories.RequirementFactory.create(user=user)
    form = decision(user, to_status="rejected", reason_code="notVerified", note="No answer.")
    factories.answer(requirement)
    response = client.post(decide_url(user), form)
    assert response.status_code == 409
    said = unescape(words(response.content.decode()))
    assert "The partner has answered since" in said
    assert "Read the answer" in said
    assert not StatusChange.objects.exists()
    assert client.post(decide_url(user), decision(user)).status_code == 302
    user.refresh_from_db()
    assert user.status == Status.ACTIVE


# Closing


def test_closing_takes_a_note_or_none(client: Client, user: User, reviewer: Staff) -> None:
    one, other = (factories.RequirementFactory.create(user=user) for _ in range(2))
    assert close(client, one, note=" Seen. ").headers["Location"] == case_of(user)
    close(client, other)
    assert [(end.by, end.note) for end in RequirementClosure.objects.order_by("created_at")] == [
        (reviewer, "Seen."),
        (reviewer, ""),
    ]
    assert not panel(client, user)


def test_closing_is_refused_where_the_partner_has_answered_since(client: Client, user: User) -> None:
    requirement = factories.RequirementFactory.create(user=user)
    version = hidden_version(page_of(client, user), "/requirement/close/")
    factories.answer(requirement)
    response = close(client, requirement, version=version, note="Withdrawn.")
    assert response.status_code == 409
    page = response.content.decode()
    assert "The partner has answered since" in page
    assert "Withdrawn.</textarea>" in page
    assert not RequirementClosure.objects.exists()


def test_what_is_closed_is_not_closed_again(client: Client, user: User, reviewer: Staff) -> None:
    one, other = (factories.RequirementFactory.create(user=user) for _ in range(2))
    close_requirement(requirement_id=one.pk, by=reviewer)
    response = close(client, one)
    assert response.status_code == 409
    assert "This requirement is closed already." in response.content.decode()
    assert "case-requirement" in response.content.decode()
    assert close(client, other, note="x" * 501).status_code == 422


def test_anothers_requirement_is_not_found(client: Client, user: User, create_user: Callable[..., Response]) -> None:
    other = factories.RequirementFactory.create(user=User.objects.get(pk=create_user().json()["userId"]))
    for named in (str(other.pk), "nonsense", ""):
        path = f"{case_of(user)}requirement/close/"
        assert client.post(path, {"requirement": named, "version": ""}).status_code == 404
    assert not RequirementClosure.objects.exists()


# Timeline and evidence pack


def entries(user: User, reader: Staff) -> list[tuple[str, str, str]]:
    found = timeline.timeline(User.objects.get(pk=user.pk), reader)["entries"]
    kinds = {"asked", "answered", "requirementClosed"}
    return [(one.kind, one.actor, one.text) for one in reversed(found) if one.kind in kinds]


def loop(user: User, api: PartnerClient, by: Staff) -> None:
    """Ask three times: one is answered by a note, one by an update, one withdrawn; then approve."""
    noted = factories.RequirementFactory.create(user=user, by=by, code="purposeOfUse", fields=(), message="")
    updated = factories.RequirementFactory.create(user=user, by=by, message=MESSAGE)
    withdrawn = factories.RequirementFactory.create(user=user, by=by, code="other", fields=(), message="")
    api.post(f"/v1/users/ada/requirements/{noted.pk}/response", {"note": "For rent."})
    assert api.patch("/v1/users/ada", ANSWER).status == 200
    close_requirement(requirement_id=withdrawn.pk, by=by, note="Not needed.")
    factories.StatusChangeFactory.create(user=user, by=by)
    assert updated.user_id == user.pk


def test_the_timeline_has_what_was_asked_answered_and_closed(user: User, api: PartnerClient, reviewer: Staff) -> None:
    loop(user, api, reviewer)
    name, slug = reviewer.username, user.partner.slug
    assert entries(user, reviewer) == [
        ("asked", name, ""),
        ("asked", name, MESSAGE),
        ("asked", name, ""),
        ("answered", slug, "For rent."),
        ("answered", slug, ""),
        ("requirementClosed", name, "Not needed."),
        ("requirementClosed", name, ""),
        ("requirementClosed", name, ""),
    ]
    shown = words(page_of(client_of(reviewer), user))
    for said in ("Asked of the partner: Address unclear", "Note of the partner", "By the decision: Active"):
        assert said in shown
    assert entries(user, factories.StaffFactory.create(role="viewer")) == []


def test_the_evidence_pack_has_all_of_it(user: User, api: PartnerClient, reviewer: Staff) -> None:
    loop(user, api, reviewer)
    pack = zipfile.ZipFile(BytesIO(client_as("auditor").post(f"{case_of(user)}evidence/").getvalue()))
    data = json.loads(pack.read("data.json"))
    closed = [
        (one["code"], one["closedBy"], one["closedByDecision"], one["closingNote"]) for one in data["requirements"]
    ]
    assert closed == [
        ("purposeOfUse", reviewer.username, "active", ""),
        ("addressUnclear", reviewer.username, "active", ""),
        ("other", reviewer.username, None, "Not needed."),
    ]
    asked = data["requirements"][1]
    assert (asked["by"], asked["fields"], asked["message"]) == (
        reviewer.username,
        ["addressLine1", "postalCode"],
        MESSAGE,
    )
    noted, updated = data["requirementResponses"]
    assert (noted["note"], noted["answers"]) == ("For rent.", {})
    assert updated["requirementId"] == asked["requirementId"]
    assert updated["by"]["partner"] == user.partner.slug
    assert updated["answers"] == {
        "addressLine1": ["100 King St W", "1 Elgin St"],
        "postalCode": ["M5X 1A9", "M5X 1A9"],
    }
    page = words(unescape(pack.read("index.html").decode()))
    for said in ("Asked of the partner", "Address unclear", "Address, Postal code", "100 King St W → 1 Elgin St"):
        assert said in page
    for said in ("Not needed.", "For rent.", "Closed by decision Active"):
        assert said in page


# Words


def test_staff_who_work_in_french_read_what_the_message_means(client: Client, user: User) -> None:
    client.cookies["django_language"] = "fr"
    template = TEMPLATES[RequirementCode.PURPOSE_OF_USE]
    with translation.override("fr"):
        meaning = template.meaning
    assert meaning != template.message
    page = client.get(case_of(user))
    assert "Demander au partenaire" in page.content.decode()
    assert json.loads(page.context["ask_templates"])["purposeOfUse"]["meaning"] == meaning
    second = ask(client, user, code="purposeOfUse", fields_asked=[], message=template.message)
    assert preview_of(second)["message"] == template.message
    assert meaning in unescape(second.content.decode())
    ask(client, user, code="purposeOfUse", fields_asked=[], message=template.message, step="send")
    assert Requirement.objects.get().message == template.message


def test_each_template_has_a_meaning_in_french() -> None:
    with translation.override("fr"):
        assert all(one.meaning != one.message for one in TEMPLATES.values() if one.message)


# Whose case it is then


def test_a_case_that_somebody_has_claimed_stays_theirs(user: User, reviewer: Staff, api: PartnerClient) -> None:
    claims.claim(user=user, staff=reviewer)
    factories.RequirementFactory.create(user=user, by=reviewer)
    other = factories.StaffFactory.create(role="reviewer")
    claims.claim(user=user, staff=other)
    assert api.patch("/v1/users/ada", ANSWER).status == 200
    assert claims.holder(user) == other


@pytest.mark.parametrize("path", ["answered", "asked"])
def test_the_lists_are_filtered_by_what_one_has_asked(
    path: str, reviewer: Staff, client: Client, create_user: Callable[..., Response]
) -> None:
    mine, other, closed = (User.objects.get(pk=create_user(externalId=f"u-{n}").json()["userId"]) for n in range(3))
    asked = [
        factories.RequirementFactory.create(user=one, by=by)
        for one, by in ((mine, reviewer), (other, factories.StaffFactory.create()))
    ]
    if path == "answered":
        for one in asked:
            factories.answer(one)
    of_mine = factories.RequirementFactory.create(user=closed, by=reviewer)
    close_requirement(requirement_id=of_mine.pk, by=reviewer)
    page = client.get(f"/admin/users/user/{path}/?asked=me").content.decode()
    assert [external_id for external_id in ("u-0", "u-1", "u-2") if f">{external_id} · " in page] == ["u-0"]


# Each difference once


def test_a_difference_that_an_answer_shows_is_named_further_down(
    user: User, reviewer: Staff, client: Client, api: PartnerClient
) -> None:
    factories.RequirementFactory.create(user=user, by=reviewer)
    api.patch("/v1/users/ada", ANSWER | {"occupation": "Nurse"})
    page = page_of(client, user)
    assert page.count("<ins>1 Elgin St</ins>") == 1
    assert page.count("<ins>Nurse</ins>") == 1
    assert "Shown further up: Address" in words(page)
    changes = page.split('id="changes-title"')[1].split("</section>")[0]
    assert "Nurse" in changes
    assert "Elgin" not in changes
    timeline_of = page.split('<ol class="case-timeline">')[1]
    assert "Occupation" in timeline_of
    assert "Nurse" not in timeline_of
