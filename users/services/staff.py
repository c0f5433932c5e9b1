"""Staff accounts."""

import secrets

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import transaction

from partners.db import audit
from users.models import Staff
from users.services.roles import ROLES
from users.staff_login import sessions
from users.staff_login.factors import FACTORS
from users.staff_login.sign_ins import FACTOR_RESET

PASSWORD_BYTES = 18  # 24 characters
REASON_LENGTH = 500


def create_staff(*, username: str, email: str, role: str) -> tuple[Staff, str]:
    """Create a staff account in the group of its role; returns it and its one-time password, which is not stored.

    role: a key of ROLES. The first login asks for another password (users/staff_login).
    Raises Django's ValidationError by field, ImproperlyConfigured where the roles are not set up.
    """
    if role not in ROLES:
        raise ValidationError({"role": f"Unknown role; one of: {', '.join(ROLES)}."})
    if not email:
        raise ValidationError({"email": "An e-mail address is required."})
    group = Group.objects.filter(name=role).first()
    if group is None:
        raise ImproperlyConfigured("The roles of staff are not set up: run `migrate`.")
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
        staff.groups.set([group])
    return staff, password


def find_staff(username: str) -> Staff:
    """The staff account of this name. Raises ValidationError."""
    try:
        return Staff.objects.get(username=Staff.normalize_username(username), is_staff=True)
    except Staff.DoesNotExist:
        raise ValidationError(f"Staff account {username!r} not found.") from None


def reset_second_factor(*, staff: Staff, reason: str) -> tuple[int, int]:
    """Delete a person's second factors and recovery codes and end their sessions, with a line in the audit log.

    The next login asks them to enrol. Returns the numbers of factors and sessions.
    Raises ValidationError.
    """
    if not reason.strip():
        raise ValidationError({"reason": "A reason is required."})
    if len(reason) > REASON_LENGTH:
        raise ValidationError({"reason": f"At most {REASON_LENGTH} characters."})
    with transaction.atomic():
        removed = Authenticator.objects.filter(user_id=staff.pk, type__in=FACTORS).count()
        Authenticator.objects.filter(user_id=staff.pk).delete()
        ended = sessions.end_all(staff.pk)
        audit.record(FACTOR_RESET, object=staff.get_username(), detail={"reason": reason.strip(), "sessions": ended})
    return removed, ended
