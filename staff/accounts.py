"""Staff accounts: how they are created and found, and their state."""

import re
import secrets
from typing import Any

from django.contrib.auth.models import Group
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import models, transaction
from django.utils.translation import pgettext_lazy

from staff.login.factors import FACTORS, OF_PROVIDER
from staff.models import Staff

# What `second_factors` and `role_names` read, for a list.
PREFETCHED = ("groups", "authenticator_set", "socialaccount_set")


class StaffState(models.TextChoices):
    """The state of an account. Invited: its owner has not yet chosen a password."""

    ACTIVE = "active", pgettext_lazy("staff account", "Active")
    INVITED = "invited", pgettext_lazy("staff account", "Invited")
    DISABLED = "disabled", pgettext_lazy("staff account", "Disabled")


@transaction.atomic
def create_staff(*, username: str | None, email: str, role: str | None) -> Staff:
    """Create a staff account without a password, for an invitation (staff/login/invitations.py).

    username: None for the part of the e-mail address before the @. role: of ROLES; None for an emergency account, a
    superuser that signs in with a password while STAFF_PASSWORD_LOGIN is false.
    Raises Django's ValidationError by field, ImproperlyConfigured where the roles are not set up.
    """
    groups = Group.objects.filter(name=role)
    if role is not None and not groups:
        raise ImproperlyConfigured("The roles of staff are not set up: run `migrate`.")
    staff = Staff(
        username=Staff.normalize_username(username_of(email.partition("@")[0]) if username is None else username),
        email=Staff.objects.normalize_email(email),
        is_staff=True,
        is_superuser=role is None,
        is_emergency=role is None,
        password_is_one_time=True,
    )
    staff.set_unusable_password()
    staff.full_clean()
    staff.save(force_insert=True)
    staff.groups.set(groups)
    return staff


def give_password(staff: Staff) -> str:
    """Return a new one-time password, which is not stored. The first login asks for another one (staff/login)."""
    # 24 characters.
    password = secrets.token_urlsafe(18)
    staff.change_password(password, is_one_time=True)
    return password


def username_of(address: str) -> str:
    """Return a username made of an address or its first part: characters that no username has become hyphens."""
    return re.sub(r"[^\w.@+-]+", "-", address)


def find_staff(username: str) -> Staff:
    """The staff account of this name. Raises ValidationError."""
    try:
        return Staff.objects.get(username=Staff.normalize_username(username), is_staff=True)
    except Staff.DoesNotExist:
        raise ValidationError(f"Staff account {username!r} not found.") from None


def acting_staff(username: str) -> Staff:
    """The staff account that `--by` of a command names. Raises ValidationError, also where nobody has used it yet."""
    staff = find_staff(username)
    if state_of(staff) == StaffState.INVITED:
        raise ValidationError(f"Staff account {username!r} has never signed in: nobody acts in its name.")
    return staff


def state_of(staff: Staff) -> StaffState:
    """The account's state."""
    if not staff.is_active:
        return StaffState.DISABLED
    return StaffState.INVITED if staff.password_is_one_time else StaffState.ACTIVE


def role_names(staff: Staff) -> list[str]:
    """The account's roles; `superuser` is the first."""
    return [*(["superuser"] if staff.is_superuser else []), *sorted(group.name for group in staff.groups.all())]


def second_factors(staff: Staff) -> set[str]:
    """The types of the account's second factors. OF_PROVIDER: the provider's, or ours is asked for at the sign-in."""
    account: Any = staff
    types = {one.type for one in account.authenticator_set.all()}.intersection(FACTORS)
    return types | {OF_PROVIDER} if account.socialaccount_set.all() else types
