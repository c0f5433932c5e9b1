"""Deciding as staff do: from what the case page showed."""

from django.test import Client

from tests.support.staff import hidden_version
from users.models import User


def case_of(user: User) -> str:
    return f"/admin/cases/{user.pk}/"


def decide_url(user: User) -> str:
    return f"{case_of(user)}decide/"


def page_of(client: Client, user: User) -> str:
    return client.get(case_of(user)).content.decode()


def decision(client: Client, user: User, **fields: str) -> dict[str, str]:
    """The form of an approval as a browser would send it."""
    page = page_of(client, user)
    version = hidden_version(page, "/decide/") if "/decide/" in page else ""
    form = {"version": version, "to_status": "active", "reason_code": "verified", "note": "", "then": "stay"}
    return form | fields
