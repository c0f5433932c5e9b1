"""On the pages of the login: how to sign in, and who can help between the password and the second factor."""

from typing import Any

from django import template
from django.conf import settings

from users.staff.staff_access import administrators

register = template.Library()

MAX_NAMES = 5


@register.simple_tag
def sign_in_methods() -> dict[str, Any]:
    """The name of the company's provider, if any, and whether passwords are for all accounts."""
    return {
        "provider": settings.STAFF_OIDC_ISSUER and settings.STAFF_OIDC_NAME,
        "password": settings.STAFF_PASSWORD_LOGIN,
    }


@register.simple_tag(name="administrators")
def names_of_administrators() -> list[str]:
    """The names of at most MAX_NAMES administrators; superusers only where there is nobody else."""
    found = list(administrators())
    people = [staff for staff in found if not staff.is_superuser] or found
    return [staff.get_full_name() or staff.get_username() for staff in people[:MAX_NAMES]]
