"""Accounts of staff, who work in the back office."""

import secrets

from allauth.mfa.models import Authenticator
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import transaction

from users.models import Staff
from users.services.roles import ROLES
from users.staff_login import sessions
from users.staff_login.factors import FACTORS

PASSWORD_BYTES = 18  # 24 characters
REASON_LENGTH = 500


def create_staff(*, username: str, email: str, role: str) -> tuple[Staff, str]:
    """A staff account in the group of its role, and its one-time password, which is kept nowhere.

    role: a key of users.services.roles.ROLES. The first login asks for another password (users/staff_login).
    Raises Django's ValidationError naming the field, ImproperlyConfigured where the roles are not set up.
    """
    if role not in ROLES:
        raise ValidationError({"role": f"There is no such role; there are {', '.join(ROLES)}."})
    if not email:
        raise ValidationError({"email": "A staff account has an e-mail address."})
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    staff = Staff(
        username=Staff.normalize_username(username),
        email=Staff.objects.normalize_email(email),
        is_staff=True,
        password_is_one_time=True,
    )
    staff.set_password(password)
    with transaction.atomic():
        staff.full_clean()
        staff.save(force_insert=True)
        staff.groups.set([_group(role)])
    return staff, password


def find_staff(username: str) -> Staff:
    """The staff account of this name. Raises ValidationError."""
    try:
        return Staff.objects.get(username=Staff.normalize_username(username))
    except Staff.DoesNotExist:
        raise ValidationError(f"There is no staff account {username!r}.") from None


def reset_second_factor(*, staff: Staff, reason: str, by: Staff | None = None) -> tuple[int, int]:
    """Takes all second factors and recovery codes of somebody who has lost them, and ends their sessions.

    At the next login they enrol anew. by: who did it; None: ops, by a command. Recorded for good in the
    admin's log, with the reason. How many factors and sessions there were. Raises ValidationError.
    """
    if not reason.strip():
        raise ValidationError({"reason": "Say why."})
    if len(reason) > REASON_LENGTH:
        raise ValidationError({"reason": f"At most {REASON_LENGTH} characters."})
    with transaction.atomic():
        removed = Authenticator.objects.filter(user_id=staff.pk, type__in=FACTORS).count()
        Authenticator.objects.filter(user_id=staff.pk).delete()
        ended = sessions.end_all_of(staff.pk)
        doer = "" if by else " by the command reset_staff_mfa"
        LogEntry.objects.create(
            # The log names a staff account in each line; where ops did it, the one concerned.
            user=by or staff,
            action_flag=CHANGE,
            content_type=ContentType.objects.get_for_model(Staff),
            object_id=str(staff.pk),
            object_repr=str(staff)[:200],
            change_message=f"Second factor removed{doer}, sessions ended. Reason: {reason.strip()}",
        )
    return removed, ended


def _group(role: str) -> Group:
    try:
        return Group.objects.get(name=role)
    except Group.DoesNotExist:
        raise ImproperlyConfigured("The roles of staff are not set up: run `migrate` first.") from None
