"""Deciding as staff do: from what the case page showed."""

from django.test import Client

from users.decisions.decision_basis import version_of
from users.models import User


def case_of(user: User) -> str:
    return f"/admin/cases/{user.pk}/"


def decide_url(user: User) -> str:
    return f"{case_of(user)}decide/"


def page_of(client: Client, user: User) -> str:
    return client.get(case_of(user)).content.decode()


def shown_version(user: User) -> str:
    """The version in each form of the case page at this moment (test_decisions)."""
    return version_of(User.objects.get(pk=user.pk))


def decision(user: User, **fields: str) -> dict[str, str]:
    """The form of an approval as a browser would send it."""
    form = {"to_status": "active", "reason_code": "verified", "note": "", "then": "stay"}
    return {"version": shown_version(user)} | form | fields
