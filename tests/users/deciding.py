"""Deciding as staff do: from what the case page showed."""

from django.test import Client

from users.decisions.decision_basis import flags_and_version
from users.file import entries
from users.models import FileEntry, User

MATCH = {"list": "UN", "listDate": "2026-11-01", "result": "possibleMatch", "reference": "QDi.1"}


def case_of(user: User) -> str:
    return f"/admin/cases/{user.pk}/"


def decide_url(user: User) -> str:
    return f"{case_of(user)}decide/"


def page_of(client: Client, user: User) -> str:
    return client.get(case_of(user)).content.decode()


def version_of(user: User) -> str:
    """The version of the case of a user as it was read."""
    return flags_and_version(user)[1]


def shown_version(user: User) -> str:
    """The version in each form of the case page at this moment (test_decisions)."""
    return version_of(User.objects.get(pk=user.pk))


def decision(user: User, **fields: str) -> dict[str, str]:
    """The form of an approval as a browser would send it."""
    form = {"to_status": "active", "reason_code": "verified", "note": "", "then": "stay"}
    return {"version": shown_version(user)} | form | fields


def match(user: User) -> FileEntry:
    """A possible match that screening finds now."""
    return entries.record(user_id=user.pk, born=user.date_of_birth, kind="screening", data=MATCH)
