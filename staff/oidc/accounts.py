"""Which staff account a person of the company's directory has, and its roles.

What the directory does is written by the actor `oidc`, who is no staff account: it relates nobody in the sense of
decisions of two people.
"""

import string
from collections.abc import Mapping
from typing import Any

from allauth.socialaccount.models import SocialAccount, SocialLogin
from django.conf import settings
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.http import HttpRequest

from core import audit
from staff.accounts import StaffState, create_staff, role_names, state_of, username_of
from staff.login.sign_ins import ACCOUNT_FOUND, ACCOUNT_MADE, ROLES_SET
from staff.models import ADDRESS_IN_LOWER_CASE, Staff

ACTOR = "oidc"
# The table's columns of first and last names are so long.
NAME_LENGTH = 150
_LOWER_CASE = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
# Providers that write a boolean as a text.
_TRUE = (True, "true", "1")


class SignInRefusedError(Exception):
    """This person does not get in. cause: for the log and the trail. username: of the account, where there is one."""

    def __init__(self, cause: str, username: str = "") -> None:
        super().__init__(cause)
        self.cause, self.username = cause, username


def account_of(request: HttpRequest, login: SocialLogin) -> Staff:
    """The person's account, with the directory's roles. In a transaction, to commit also after SignInRefusedError."""
    roles = _roles(login.userinfo | login.id_token) if settings.STAFF_OIDC_ROLES else None
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
    if staff.password_is_one_time:
        # A link that was made for the account is of no use any more, nor is a password for one time.
        staff.change_password(None, is_one_time=False)
    return staff


def _roles(claims: Mapping[str, Any]) -> set[str]:
    path = settings.STAFF_OIDC_ROLES_CLAIM
    groups: Any = claims
    # A claim may have a dotted name, such as an address; otherwise each part names an object in the one before.
    for name in [path] if path in claims else path.split("."):
        groups = groups.get(name) if isinstance(groups, Mapping) else None
    present = {one for one in (groups if isinstance(groups, list) else [groups]) if isinstance(one, str)}
    return {role for group, role in settings.STAFF_OIDC_ROLES.items() if group in present}


def _first_time(request: HttpRequest, login: SocialLogin, roles: set[str] | None) -> Staff:
    """Return the invited account with the person's verified address, or a new one."""
    email = _verified_address(login.id_token, login.userinfo)
    known = _with_address(email)
    if known is None and not roles:
        raise SignInRefusedError("unknown person")
    if known is not None and (state_of(known) != StaffState.INVITED or known.is_emergency):
        # A second account would make two people of one.
        raise SignInRefusedError("account not invited", known.get_username())
    try:
        with transaction.atomic():
            staff = known or _make(email, login.user, min(roles or ()))
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
    audit.record(
        ACCOUNT_FOUND if known else ACCOUNT_MADE,
        object=staff.get_username(),
        detail={"issuer": settings.STAFF_OIDC_ISSUER},
    )
    return staff


def _with_address(email: str) -> Staff | None:
    """The locked account of an address, in any case of ASCII letters: SQL's and Unicode's also match a dotless i."""
    folded, accounts = email.translate(_LOWER_CASE), Staff.objects.select_for_update(no_key=True)
    found = accounts.alias(folded=ADDRESS_IN_LOWER_CASE).filter(folded=folded).first()
    return found if found is not None and found.email.translate(_LOWER_CASE) == folded else None


def _verified_address(*documents: Mapping[str, Any]) -> str:
    """Return the address of the first document that has one, where that document says that it is verified.

    `xms_edov` is Entra ID's: the address is of a domain that the tenant has verified. It counts in the absence of
    `email_verified` alone.
    """
    claims = next((one for one in documents if one.get("email")), {})
    email = str(claims.get("email"))
    try:
        validate_email(email)
    except ValidationError:
        raise SignInRefusedError("no address") from None
    if claims.get("email_verified", claims.get("xms_edov")) not in _TRUE:
        raise SignInRefusedError("address not verified")
    return email


def _make(email: str, person: Staff, role: str) -> Staff:
    """A new account, named by what is before the @ of the address, or by the address where that name is taken."""
    name = username_of(email.partition("@")[0])
    if Staff.objects.filter(username__iexact=name).exists() or name.lower() == Staff.SANDBOX:
        name = username_of(email)
    staff = create_staff(username=name, email=email, role=role)
    # allauth has taken the names from the claims, as they are.
    staff.first_name, staff.last_name = (
        "".join(filter(str.isprintable, name))[:NAME_LENGTH] for name in (person.first_name, person.last_name)
    )
    return staff


def _set_roles(staff: Staff, roles: set[str]) -> None:
    """Set what the directory gives, and no more: an account that was made a superuser here is one no longer."""
    if set(role_names(staff)) != roles:
        if staff.is_superuser:
            staff.is_superuser = False
            staff.save(update_fields=["is_superuser"])
        staff.groups.set(Group.objects.filter(name__in=roles))
        audit.record(ROLES_SET, object=staff.get_username(), detail={"roles": ", ".join(sorted(roles)) or "–"})
