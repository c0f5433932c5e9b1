"""Which staff account a person of the company's directory has, and its roles.

What the directory does is written by the actor `oidc`, who is no staff account: it relates nobody in the sense of
decisions of two people.
"""

from collections.abc import Mapping
from typing import Any

from allauth.socialaccount.models import SocialAccount, SocialLogin
from django.conf import settings
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from partners.db import audit
from users.models import Staff
from users.staff.staff import StaffState, create_invited_staff, role_names, state_of

ACTOR = "oidc"
FOUND = audit.register("directory.found", _("Invited account found by the directory"))
MADE = audit.register("directory.made", _("Account made by the directory"))
ROLES_SET = audit.register("directory.rolesSet", _("Roles set by the directory"))
# The table's columns of first and last names are so long.
NAME_LENGTH = 150
# Providers that write a boolean as a text.
_TRUE = (True, "true", "1")
# `xms_edov`: Entra ID's, that the address is of a domain that the tenant has verified.
_VERIFIED_CLAIMS = ("email_verified", "xms_edov")


class SignInRefusedError(Exception):
    """This person does not get in. cause: for the log and the trail. username: of the account, where there is one."""

    def __init__(self, cause: str, username: str = "") -> None:
        super().__init__(cause)
        self.cause, self.username = cause, username


def account_of(request: HttpRequest, login: SocialLogin) -> Staff:
    """Return the person's account, found or made, with the roles that the directory says. In a transaction.

    Raises SignInRefusedError, after which what was written stays: roles that the directory no longer gives.
    """
    roles = _roles(login.claims) if settings.STAFF_OIDC_ROLES else None
    staff = Staff.objects.select_for_update(no_key=True).filter(pk=login.user.pk).first() if login.is_existing else None
    if staff is None and roles == set():
        raise SignInRefusedError("no role")
    if staff is None:
        staff = _first_time(request, login, roles)
    if not (staff.is_active and staff.is_staff):
        raise SignInRefusedError("no access", staff.get_username())
    if roles is not None:
        _set_roles(staff, roles)
        if not roles:
            raise SignInRefusedError("no role", staff.get_username())
    _accept_invitation(staff)
    return staff


def _roles(claims: Mapping[str, Any]) -> set[str]:
    groups = claims.get(settings.STAFF_OIDC_ROLES_CLAIM) or []
    present = {one for one in (groups if isinstance(groups, list) else [groups]) if isinstance(one, str)}
    return {role for group, role in settings.STAFF_OIDC_ROLES.items() if group in present}


def _first_time(request: HttpRequest, login: SocialLogin, roles: set[str] | None) -> Staff:
    """Return the invited account with the person's verified address, or a new one."""
    email = _verified_address(login.claims)
    known = list(Staff.objects.select_for_update(no_key=True).filter(email__iexact=email))
    if not known and not roles:
        raise SignInRefusedError("unknown person")
    if known and (len(known) > 1 or state_of(known[0]) != StaffState.INVITED or known[0].is_emergency):
        # A second account would make two people of one.
        raise SignInRefusedError("account not invited", known[0].get_username())
    try:
        with transaction.atomic():
            staff = known[0] if known else _make(email, login.user, min(roles or ()))
            # One whom the directory has made again has another `sub`; an administrator has invited them again.
            linked = SocialAccount.objects.filter(user=staff).first()
            if linked is not None:
                linked.provider, linked.uid = login.account.provider, login.account.uid
                login.account = linked
            # allauth's: it stores issuer and `sub`.
            login.connect(request, staff)
    except (IntegrityError, ValidationError) as error:
        # Another request was first, or the name is none for an account.
        raise SignInRefusedError("account could not be made") from error
    audit.record(FOUND if known else MADE, object=staff.get_username(), detail={"issuer": settings.STAFF_OIDC_ISSUER})
    return staff


def _verified_address(claims: Mapping[str, Any]) -> str:
    email = str(claims.get("email"))
    try:
        validate_email(email)
    except ValidationError:
        raise SignInRefusedError("no address") from None
    if not any(claims.get(name) in _TRUE for name in _VERIFIED_CLAIMS):
        raise SignInRefusedError("address not verified")
    return email


def _make(email: str, person: Staff, role: str) -> Staff:
    """A new account, named by what is before the @ of the address, or by the address where that name is taken."""
    name = email.partition("@")[0]
    if Staff.objects.filter(username__iexact=name).exists() or name.lower() == Staff.SANDBOX:
        name = email
    staff = create_invited_staff(username=name, email=email, role=role)
    # allauth has taken the names from the claims, as they are.
    staff.first_name, staff.last_name = (
        "".join(filter(str.isprintable, name))[:NAME_LENGTH] for name in (person.first_name, person.last_name)
    )
    return staff


def _set_roles(staff: Staff, roles: set[str]) -> None:
    before = set(role_names(staff)) - {"superuser"}
    if before != roles:
        staff.groups.set(Group.objects.filter(name__in=roles))
        audit.record(ROLES_SET, object=staff.get_username(), detail={"roles": ", ".join(sorted(roles)) or "–"})


def _accept_invitation(staff: Staff) -> None:
    """A link that was made for the account is of no use any more, nor is a password for one time."""
    if staff.password_is_one_time:
        staff.set_unusable_password()
        staff.password_is_one_time = False
        staff.save(update_fields=["password", "password_is_one_time"])
