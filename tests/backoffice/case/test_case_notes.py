"""Notes on a case without a decision."""

import json
import zipfile
from io import BytesIO

import pytest
from django.db import IntegrityError, transaction

from backoffice.case.forms import AddNoteForm
from core.refusals import RefusedError
from tests import factories
from tests.support.staff import client_as, client_of
from tests.users.deciding import case_of, page_of
from users.decisions import compliance
from users.models import CaseNote, User

NOTE = "Called the partner:\nthe passport follows."


def test_a_note_is_in_the_timeline_with_its_author(user: User) -> None:
    reviewer = factories.StaffFactory.create(role="reviewer")
    client = client_of(reviewer)
    response, again = (client.post(f"{case_of(user)}note/", {"note": f" {NOTE} "}) for _ in range(2))
    assert (again.status_code, "You have added this note already." in again.content.decode()) == (409, True)
    assert response.headers["Location"] == case_of(user)
    note = user.case_notes.get()
    assert (note.text, note.staff, note.created_at is not None) == (NOTE, reviewer, True)
    user.refresh_from_db()
    assert user.status == "pendingCompliance"


def test_a_note_is_in_the_evidence_pack(user: User) -> None:
    reviewer = factories.StaffFactory.create(role="reviewer")
    compliance.add_note(user=user, text=NOTE, by=reviewer)
    sent = client_as("auditor").post(f"{case_of(user)}evidence/")
    pack = zipfile.ZipFile(BytesIO(sent.getvalue()))
    [note] = json.loads(pack.read("data.json"))["notes"]
    assert (note["by"], note["note"]) == (reviewer.username, NOTE)
    assert "the passport follows." in pack.read("index.html").decode()


def test_an_empty_or_too_long_note_is_refused(user: User) -> None:
    response = client_as("reviewer").post(f"{case_of(user)}note/", {"note": "x" * 2001})
    assert (response.status_code, "2000" in response.content.decode()) == (422, True)
    by = factories.StaffFactory.create(role="reviewer")
    for text, refusal in (("", "A note is required."), (" \n", "A note is required."), ("x" * 2001, "2000")):
        assert refusal in str(AddNoteForm({"note": text}).errors)
        with pytest.raises(RefusedError, match=f"^(?=.*note).*{refusal}"):
            compliance.add_note(user=user, text=text, by=by)
    assert not CaseNote.objects.exists()


def test_who_may_not_decide_adds_no_note(user: User) -> None:
    with pytest.raises(RefusedError, match="may not decide"):
        compliance.add_note(user=user, text=NOTE, by=factories.StaffFactory.create(role="auditor"))


def test_viewers_do_not_see_notes_and_auditors_cannot_write_them(user: User) -> None:
    compliance.add_note(user=user, text=NOTE, by=factories.StaffFactory.create(role="reviewer"))
    assert "the passport follows." not in page_of(client_as("viewer"), user)
    auditor = page_of(client_as("auditor"), user)
    assert "Called the partner:<br>the passport follows." in auditor
    assert "Add a note" not in auditor


def test_the_database_refuses_a_blank_note(user: User) -> None:
    with pytest.raises(IntegrityError, match="case_note_given"), transaction.atomic():
        CaseNote.objects.create(user=user, text=" \n", staff=factories.StaffFactory.create())
