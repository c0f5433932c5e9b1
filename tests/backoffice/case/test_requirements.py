"""Asking a partner from the case page, its answer on the case, and closing: contract, section 13."""

import json
import re
import time
import zipfile
from datetime import datetime, timedelta
from html import unescape
from io import BytesIO
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone, translation

from backoffice.case import page as case_page
from backoffice.case import requirements, timeline
from backoffice.case.requirements import TEMPLATES, AskForm, check_confirmed, close_form, confirmation
from core.refusals import RefusedError
from staff.models import Staff
from tests import factories
from tests.support.client import PartnerClient
from tests.support.staff import client_as, client_of, hidden_version, words
from tests.users.deciding import case_of, decide_url, decision, page_of, shown_version
from users import claims
from users.models import Claim, Requirement, RequirementClosure, RequirementCode, Status, StatusChange, User
from users.models.requirements import MESSAGE_LENGTH
from users.requirements import check_message, close_requirement, may_be_asked

MESSAGE = "Please confirm the street."
ANSWER = {"addressLine1": "1 Elgin St", "postalCode": "M5X 1A9"}


@pytest.fixture
def client(reviewer: Staff) -> Client:
    return client_of(reviewer)


def asked(**fields: Any) -> dict[str, Any]:
    """What the dialog sends."""
    form = {"code": "addressUnclear", "fields_asked": ["address_line1", "postal_code"], "message": MESSAGE}
    return form | {"due_in_days": "14", "then": "stay"} | fields


def form_of(**fields: Any) -> AskForm:
    form = AskForm(asked(**fields))
    form.is_valid()
    return form


def ask(client: Client, user: User, **fields: Any) -> Any:
    """Send the form of the dialog, in its first step unless `step` says otherwise."""
    return client.post(f"{case_of(user)}ask/", asked(version=shown_version(user)) | fields)


def confirmation_in(response: Any) -> str:
    """What the second step sends back of what it showed."""
    found = re.search(r'name="confirmed" value="([^"]+)"', response.content.decode())
    assert found
    return unescape(found[1])


def close(client: Client, requirement: Requirement, **fields: str) -> Any:
    path = f"{case_of(requirement.user)}requirement/close/"
    version = shown_version(requirement.user)
    return client.post(path, {"requirement": str(requirement.pk), "version": version} | fields)


def panel(page: str) -> str:
    """The words of the panel; empty without one."""
    found = re.search(r'<section class="case-card case-card--requirements".*?</section>', page, re.DOTALL)
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

    second = {"due_in_days": "7", "step": "send", "confirmed": confirmation_in(first), "version": shown_version(user)}
    sent, again = (ask(client, user, **second) for _ in range(2))

    assert sent.headers["Location"] == case_of(user)
    # The partner is asked once.
    assert (again.status_code, "The user has changed since you loaded" in again.content.decode()) == (409, True)
    [read] = api.get("/v1/users/ada").json()["requirements"]
    assert shown["code"] == read["code"] == "addressUnclear"
    assert shown["fields"] == "addressLine1 , postalCode"
    assert read["fields"] == ["addressLine1", "postalCode"]
    assert shown["message"] == read["message"] == MESSAGE
    assert shown["dueAt"][:10] == read["dueAt"][:10]
    requirement = Requirement.objects.get()
    assert requirement.due_at - requirement.created_at == timedelta(days=7)
    # For the partner as in the API, for the reader in the time zone of the page.
    dialog = first.content.decode().partition('class="case-preview"')[2].partition("</dialog>")[0]
    assert re.search(r"<code>\d{4}-\d\d-\d\dT[0-9:.]+Z</code>", dialog)
    assert re.search(r"due\s+<time[^>]*>[A-Z][^<]* E[SD]T</time>", dialog)


def test_a_second_step_is_of_what_it_showed_to_one_person_of_one_user_for_fifteen_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user, staff = User(pk=uuid4()), Staff(pk=1)
    signed = confirmation(form_of(), user=user, staff=staff)

    def is_confirmed(signed: str = signed, *, user: User = user, staff: Staff = staff, **changed: Any) -> bool:
        try:
            check_confirmed(form_of(**changed), user=user, staff=staff, signed=signed)
        except RefusedError:
            return False
        return True

    assert is_confirmed()
    confirmed = {
        "nothing": is_confirmed(""),
        "made up": is_confirmed("made up"),
        "another message": is_confirmed(message="Another message."),
        "fewer fields": is_confirmed(fields_asked=["postal_code"]),
        "another code": is_confirmed(code="other"),
        "another time": is_confirmed(due_in_days="7"),
        "a colleague": is_confirmed(staff=Staff(pk=2)),
        "another user": is_confirmed(user=User(pk=uuid4())),
    }
    now = time.time() + 15 * 60 + 1
    monkeypatch.setattr("django.core.signing.time", SimpleNamespace(time=lambda: now))
    confirmed["later"] = is_confirmed()
    assert [name for name, is_accepted in confirmed.items() if is_accepted] == []


def test_nothing_is_sent_but_what_the_second_step_showed(client: Client, user: User, reviewer: Staff) -> None:
    signed = confirmation(form_of(message="Another message."), user=user, staff=reviewer)
    response = ask(client, user, step="send", confirmed=signed)
    assert response.status_code == 409
    assert "See what the partner will read before you send it" in response.content.decode()
    assert not Requirement.objects.exists()


def test_the_second_step_can_be_edited(client: Client, user: User) -> None:
    response = ask(client, user, step="edit", code="emailUnclear", fields_asked=["email"])
    page = response.content.decode()
    assert f">\n{MESSAGE}</textarea>" in page
    assert re.search(r'value="emailUnclear"[^>]* checked', page)
    assert re.search(r'value="email"[^>]* checked', page)
    assert not Requirement.objects.exists()


def test_what_no_partner_is_asked_is_an_error_of_its_field() -> None:
    wrong: list[dict[str, Any]] = [
        {"code": ""},
        {"code": "none"},
        {"fields_asked": ["status"]},
        {"due_in_days": "90"},
        {"due_in_days": ""},
        {"message": "x" * (MESSAGE_LENGTH + 1)},
        {"message": "a\0b"},
    ]
    assert form_of().errors == {}
    assert [[*form_of(**fields).errors] for fields in wrong] == [[*fields] for fields in wrong]


def test_a_word_that_tells_of_a_suspicion_is_refused_in_both_steps(client: Client, user: User) -> None:
    for step in ("preview", "send"):
        response = ask(client, user, step=step, message="We suspended it for fraud.")
        assert response.status_code == 422
        page = unescape(response.content.decode())
        assert "case-error" in page
        assert "The partner must not learn of a suspicion: leave out" in page
        # It is the only element that asks for the focus.
        assert re.findall(r"<(\w+)[^>]* autofocus", page.partition('<article class="case"')[2]) == ["textarea"]
    assert not Requirement.objects.exists()


def test_asking_ends_the_claim_and_leads_to_the_next_case(client: Client, user: User, reviewer: Staff) -> None:
    claims.claim(user=user, staff=reviewer)
    following = factories.UserFactory.create()
    signed = confirmation(form_of(), user=user, staff=reviewer)
    response = ask(client, user, step="send", confirmed=signed, then="next")
    assert response.headers["Location"] == case_of(following)
    assert not Claim.objects.filter(user=user).exists()


def test_a_case_that_somebody_else_has_claimed_is_left_alone(client: Client, user: User, reviewer: Staff) -> None:
    requirement = factories.RequirementFactory.create(user=user)
    other = factories.StaffFactory.create(role="reviewer")
    claims.claim(user=user, staff=other)
    signed = confirmation(form_of(), user=user, staff=reviewer)
    for response in (ask(client, user, step="send", confirmed=signed), close(client, requirement)):
        assert response.status_code == 409
        page = response.content.decode()
        assert f"{other.username} has claimed this case." in page
        assert 'href="#ask"' not in page
        assert "/requirement/close/" not in page
    assert Requirement.objects.get() == requirement
    assert not RequirementClosure.objects.exists()


def test_a_change_between_the_steps_is_noticed(client: Client, user: User, api: PartnerClient) -> None:
    version = shown_version(user)
    api.patch("/v1/users/ada", {"city": "Ottawa"})
    second = ask(client, user, version=version)
    kept = hidden_version(second.content.decode(), "/ask/")
    assert kept == version
    response = ask(client, user, version=kept, step="send", confirmed=confirmation_in(second))
    assert response.status_code == 409
    assert "The partner changed <strong>City</strong>" in response.content.decode()
    assert not Requirement.objects.exists()


def test_nothing_is_asked_about_who_is_rejected_or_closed(client: Client, user: User, reviewer: Staff) -> None:
    closed = factories.UserFactory.create(status=Status.CLOSED)
    assert not may_be_asked(closed)
    with pytest.raises(RefusedError, match="Nothing is asked about a user who is closed"):
        factories.RequirementFactory.create(user=closed)
    factories.decide(user, Status.REJECTED)
    signed = confirmation(form_of(), user=user, staff=reviewer)
    response = ask(client, user, step="send", confirmed=signed)
    assert response.status_code == 409
    page = response.content.decode()
    assert "Nothing is asked about a user who is rejected." in page
    assert 'href="#ask"' not in page


def test_a_reload_of_the_address_leads_to_the_case(client: Client, user: User) -> None:
    for path in ("ask", "requirement/close"):
        assert client.get(f"{case_of(user)}{path}/").headers["Location"] == case_of(user)


# On the case


def test_the_case_says_what_waits_and_what_to_do_before_it_is_approved(
    client: Client, user: User, reviewer: Staff
) -> None:
    factories.RequirementFactory.create(user=user, by=reviewer, message=MESSAGE)
    page = unescape(page_of(client, user))
    shown = panel(page)
    for said in ("Address unclear", "Open", reviewer.username, MESSAGE, "addressLine1", "postalCode", "due "):
        assert said in shown
    assert "Waiting for the partner" in words(page)
    assert "Overdue" not in shown
    for form in ("/ask/", "/requirement/close/"):
        assert hidden_version(page, form) == shown_version(user)
    # Approving.
    said = "1 requirement is open: wait for the partner's answer, or close it first."
    assert re.search(r"<button[^>]*disabled[^>]*>Approve</button>", page)
    assert 'id="decide-active"' not in page
    assert said in page
    response = client.post(decide_url(user), decision(user))
    assert response.status_code == 409
    assert said in unescape(response.content.decode())
    assert not StatusChange.objects.exists()


def test_an_overdue_one_is_marked(client: Client, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    factories.RequirementFactory.create(user=user, due_in_days=1)
    late = timezone.now() + timedelta(days=2)

    class Later:
        @staticmethod
        def now() -> datetime:
            return late

    for module in (requirements, case_page):
        monkeypatch.setattr(module, "timezone", Later)
    page = page_of(client, user)
    assert "Overdue" in panel(page)
    assert "Waiting for the partner: overdue" in words(page)


def test_answers_stand_with_the_values_before_and_now_and_the_latest_notes(
    client: Client, user: User, api: PartnerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requirements, "MAX_RESPONSES", 2)
    updated = factories.RequirementFactory.create(user=user, fields=("address_line1", "postal_code"))
    noted = factories.RequirementFactory.create(user=user, code="purposeOfUse", fields=(), by=updated.by)
    assert api.patch("/v1/users/ada", ANSWER | {"occupation": "Nurse"}).status == 200
    for note in ("Note 1.", "Note 2.", "Note 3.\n<b>Paid</b> monthly."):
        assert api.post(f"/v1/users/ada/requirements/{noted.pk}/response", {"note": note}).status == 200

    page = page_of(client, user)

    assert "The partner has answered" in words(page)
    shown = panel(page)
    assert "Answered by an update" in shown
    assert "Address 100 King St W 1 Elgin St" in shown
    assert "Postal code M5X 1A9 M5X 1A9 confirmed" in shown
    assert user.partner.slug in shown
    assert re.findall(r"Note \d\.", shown) == ["Note 3.", "Note 2."]
    # A note is text.
    assert "Note 3. <b>Paid</b> monthly." in shown
    assert "Note 3.<br>&lt;b&gt;Paid&lt;/b&gt; monthly." in page
    # Each difference is shown once, and named further down.
    assert page.count("<ins>1 Elgin St</ins>") == 1
    assert page.count("<ins>Nurse</ins>") == 1
    assert "Shown further up: Address" in words(page)
    changes = page.split('id="changes-title"')[1].split("</section>")[0]
    assert "Nurse" in changes
    assert "Elgin" not in changes
    timeline_of = page.split('<ol class="case-timeline">')[1]
    assert "Occupation" in timeline_of
    assert "Nurse" not in timeline_of


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


# Closing


def test_closing_takes_a_note_or_none(client: Client, user: User, reviewer: Staff) -> None:
    one, other = (factories.RequirementFactory.create(user=user, by=reviewer) for _ in range(2))
    assert [*close_form({"note": "x" * 501}, requirement_id=one.pk).errors] == ["note"]
    assert close(client, one, note=" Seen. ").headers["Location"] == case_of(user)
    again = close(client, one)
    assert again.status_code == 409
    page = again.content.decode()
    assert "This requirement is closed already." in page
    assert panel(page)
    close(client, other)
    assert [(end.by, end.note) for end in RequirementClosure.objects.order_by("created_at")] == [
        (reviewer, "Seen."),
        (reviewer, ""),
    ]
    assert not panel(page_of(client, user))


def test_what_is_sent_from_a_page_from_before_the_answer_is_refused(client: Client, user: User) -> None:
    requirement = factories.RequirementFactory.create(user=user)
    version = shown_version(user)
    rejection = decision(user, to_status="rejected", reason_code="notVerified", note="No answer.")
    factories.answer(requirement)
    closing = close(client, requirement, version=version, note="Withdrawn.")
    deciding = client.post(decide_url(user), rejection)
    for response in (closing, deciding):
        assert response.status_code == 409
        said = unescape(words(response.content.decode()))
        assert "The partner has answered since" in said
        assert "Read the answer" in said
    assert "Withdrawn.</textarea>" in closing.content.decode()
    assert not RequirementClosure.objects.exists()
    assert not StatusChange.objects.exists()
    assert client.post(decide_url(user), decision(user)).status_code == 302
    user.refresh_from_db()
    assert user.status == Status.ACTIVE


def test_anothers_requirement_is_not_found(client: Client, user: User) -> None:
    other = factories.RequirementFactory.create()
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
    factories.RequirementFactory.create(user=user, by=by, message=MESSAGE)
    withdrawn = factories.RequirementFactory.create(user=user, by=by, code="other", fields=(), message="")
    api.post(f"/v1/users/ada/requirements/{noted.pk}/response", {"note": "For rent."})
    assert api.patch("/v1/users/ada", ANSWER).status == 200
    close_requirement(requirement_id=withdrawn.pk, by=by, note="Not needed.")
    factories.StatusChangeFactory.create(user=user, by=by)


def test_the_timeline_and_the_evidence_pack_have_what_was_asked_answered_and_closed(
    user: User, api: PartnerClient, reviewer: Staff
) -> None:
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


def test_a_viewer_sees_none_of_it(user: User) -> None:
    requirement = factories.RequirementFactory.create(user=user, message=MESSAGE)
    factories.answer(requirement, "For rent.")
    close_requirement(requirement_id=requirement.pk, by=requirement.by, note="Not needed.")
    factories.answer(factories.RequirementFactory.create(user=user, message=MESSAGE), "For rent.")
    page = page_of(client_as("viewer"), user)
    for text in (MESSAGE, "For rent.", "Not needed.", "Asked of the partner"):
        assert text not in page


# Words


def test_staff_who_work_in_french_read_what_the_message_means(client: Client, user: User) -> None:
    client.cookies["django_language"] = "fr"
    template = TEMPLATES[RequirementCode.PURPOSE_OF_USE]
    with translation.override("fr"):
        templates = {
            code.value: {"message": one.message, "meaning": one.meaning, "fields": [*one.fields]}
            for code, one in TEMPLATES.items()
        }
    asked = {"code": "purposeOfUse", "fields_asked": [], "message": template.message}
    second = ask(client, user, **asked)
    assert "Demander au partenaire" in second.content.decode()
    assert json.loads(second.context["ask_templates"]) == templates
    assert preview_of(second)["message"] == template.message
    assert str(templates["purposeOfUse"]["meaning"]) in unescape(second.content.decode())
    ask(client, user, **asked, step="send", confirmed=confirmation_in(second))
    assert Requirement.objects.get().message == template.message


def test_each_code_has_a_template_that_may_be_sent_with_a_meaning_in_french() -> None:
    assert {*TEMPLATES} == {*RequirementCode}
    for template in TEMPLATES.values():
        check_message(template.message)
        assert not template.meaning
        with translation.override("fr"):
            assert bool(template.meaning) == bool(template.message), template


# Whose case it is then


def test_a_case_that_somebody_has_claimed_stays_theirs(user: User, reviewer: Staff, api: PartnerClient) -> None:
    claims.claim(user=user, staff=reviewer)
    factories.RequirementFactory.create(user=user, by=reviewer)
    other = factories.StaffFactory.create(role="reviewer")
    claims.claim(user=user, staff=other)
    assert api.patch("/v1/users/ada", ANSWER).status == 200
    assert claims.holder(user) == other


def test_the_lists_are_filtered_by_what_one_has_asked(reviewer: Staff, client: Client) -> None:
    mine, other, closed = (factories.UserFactory.create(external_id=f"u-{number}") for number in range(3))
    asked = [
        factories.RequirementFactory.create(user=one, by=by)
        for one, by in ((mine, reviewer), (other, factories.StaffFactory.create()))
    ]
    of_mine = factories.RequirementFactory.create(user=closed, by=reviewer)
    close_requirement(requirement_id=of_mine.pk, by=reviewer)
    listed = {}
    for path in ("asked", "answered"):
        page = client.get(f"/admin/users/user/{path}/?asked=me").content.decode()
        listed[path] = [external_id for external_id in ("u-0", "u-1", "u-2") if f">{external_id} · " in page]
        if path == "asked":
            for one in asked:
                factories.answer(one)
    assert listed == {"asked": ["u-0"], "answered": ["u-0"]}
