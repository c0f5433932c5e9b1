"""Staff accounts: how they are created and found, and their state."""

import re
import secrets
import string
from collections import defaultdict
from collections.abc import Iterable

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import Group
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from staff.login.factors import FACTORS
from staff.models import ADDRESS_IN_LOWER_CASE, Staff
from staff.roles import ROLES

_LOWER_CASE = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
PASSWORD_BYTES = 18  # 24 characters
# An account that nobody has used for so long is marked.
DORMANT_DAYS = 90


class StaffState(models.TextChoices):
    """The state of an account. Invited: its owner has not yet chosen a password. No access: it is nobody's."""

    ACTIVE = "active", pgettext_lazy("staff account", "Active")
    INVITED = "invited", pgettext_lazy("staff account", "Invited")
    DISABLED = "disabled", pgettext_lazy("staff account", "Disabled")
    NO_ACCESS = "noAccess", pgettext_lazy("staff account", "No access")


class SignIn(models.TextChoices):
    """How an account signs in: with its own password or passkey, by the company's provider, or in an emergency."""

    PASSWORD = "password", pgettext_lazy("sign-in", "Password")
    OIDC = "oidc", pgettext_lazy("sign-in", "Company account")
    EMERGENCY = "emergency", pgettext_lazy("sign-in", "Emergency")


def create_staff(*, username: str, email: str, role: str | None) -> tuple[Staff, str]:
    """Create a staff account; returns it and its one-time password, which is not stored.

    role: a key of ROLES; None for an emergency account, a superuser that signs in with a password while
    STAFF_PASSWORD_LOGIN is false. The first login asks for another password (staff/login).
    Raises Django's ValidationError by field, ImproperlyConfigured where the roles are not set up.
    """
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    return _create(username, email, role, password), password


def create_invited_staff(*, username: str, email: str, role: str) -> Staff:
    """Create a staff account without a password, for an invitation (staff/login/invitations.py).

    username: the part of the e-mail address before the @ where it is empty. Raises as create_staff.
    """
    return _create(username or username_of(email.partition("@")[0]), email, role, None)


def username_of(address: str) -> str:
    """Return a username made of an address or its first part: characters that no username has become hyphens."""
    return re.sub(r"[^\w.@+-]+", "-", address)


def staff_with_address(email: str, *, lock: bool = False) -> Staff | None:
    """Return the account of an address. Addresses are one where they differ in the case of ASCII's letters alone.

    SQL's and Unicode's cases would find `mike@…` for an address of somebody else with a dotless i.
    """
    accounts = Staff.objects.select_for_update(no_key=True) if lock else Staff.objects.all()
    found = accounts.alias(folded=ADDRESS_IN_LOWER_CASE).filter(folded=_fold(email)).first()
    return found if found is not None and _fold(found.email) == _fold(email) else None


def _fold(address: str) -> str:
    return address.translate(_LOWER_CASE)


def _create(username: str, email: str, role: str | None, password: str | None) -> Staff:
    if role is not None and role not in ROLES:
        raise ValidationError({"role": f"Unknown role; one of: {', '.join(ROLES)}."})
    if not email:
        raise ValidationError({"email": _("An email address is required.")})
    groups = Group.objects.filter(name=role)
    if role is not None and not groups:
        raise ImproperlyConfigured("The roles of staff are not set up: run `migrate`.")
    staff = Staff(
        username=Staff.normalize_username(username),
        email=Staff.objects.normalize_email(email),
        is_staff=True,
        is_superuser=role is None,
        is_emergency=role is None,
        password_is_one_time=True,
    )
    staff.set_password(password)
    with transaction.atomic():
        staff.full_clean()
        staff.save(force_insert=True)
        staff.groups.set(groups)
    return staff


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
    if not staff.is_staff:
        return StaffState.NO_ACCESS
    return StaffState.INVITED if staff.password_is_one_time else StaffState.ACTIVE


def sign_in_methods(accounts: Iterable[Staff]) -> dict[int, SignIn]:
    """How each of those accounts signs in, by its id."""
    accounts = list(accounts)
    linked = set(SocialAccount.objects.filter(user__in=accounts).values_list("user_id", flat=True))
    methods = {one.pk: SignIn.OIDC if one.pk in linked else SignIn.PASSWORD for one in accounts}
    return methods | {one.pk: SignIn.EMERGENCY for one in accounts if one.is_emergency}


def dormant_days(staff: Staff) -> int:
    """Whole days since the account's last sign-in; since it was created, where there was none."""
    return (timezone.now() - (staff.last_login or staff.date_joined)).days


def role_names(staff: Staff) -> list[str]:
    """The account's roles; `superuser` is the first."""
    return [*(["superuser"] if staff.is_superuser else []), *sorted(group.name for group in staff.groups.all())]


def second_factors(accounts: Iterable[Staff]) -> dict[int, set[str]]:
    """The types of the second factors of those accounts that have any, by the account's id.

    SignIn.OIDC is one: the provider's, or ours is asked for at the sign-in.
    """
    accounts = list(accounts)
    found: dict[int, set[str]] = defaultdict(set)
    for account, kind in Authenticator.objects.filter(user__in=accounts, type__in=FACTORS).values_list(
        "user_id", "type"
    ):
        found[account].add(kind)
    for account in SocialAccount.objects.filter(user__in=accounts).values_list("user_id", flat=True):
        found[account].add(SignIn.OIDC.value)
    return found
