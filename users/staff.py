"""Accounts of staff, who work in the back office."""

import secrets

from django.contrib.auth.models import Group
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import transaction

from users.models import Staff
from users.roles import ROLES

PASSWORD_BYTES = 18  # 24 characters


def create_staff(*, username: str, email: str, role: str) -> tuple[Staff, str]:
    """A staff account in the group of its role, and its one-time password, which is kept nowhere.

    role: a key of users.roles.ROLES. What the person has to do at the first login is the back office's rule.
    Raises Django's ValidationError naming the field, ImproperlyConfigured where the roles are not set up.
    """
    if role not in ROLES:
        raise ValidationError({"role": f"There is no such role; there are {', '.join(ROLES)}."})
    if not email:
        raise ValidationError({"email": "A staff account has an e-mail address."})
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    staff = Staff(
        username=Staff.normalize_username(username), email=Staff.objects.normalize_email(email), is_staff=True
    )
    staff.set_password(password)
    with transaction.atomic():
        staff.full_clean()
        staff.save(force_insert=True)
        staff.groups.set([_group(role)])
    return staff, password


def _group(role: str) -> Group:
    try:
        return Group.objects.get(name=role)
    except Group.DoesNotExist:
        raise ImproperlyConfigured("The roles of staff are not set up: run `migrate` first.") from None
