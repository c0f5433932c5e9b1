"""What administrators do with the access of others: invite again, reset second factors, end sessions, disable, enable.

Each act ends in one line of the audit log with its reason. by: the administrator, who has verified a second factor;
None for an operator's command. All raise RefusedError, and ValidationError for a reason that is empty or too long; they
return what they ended, by number: sessions, factors, claims, proposals.
"""

from types import SimpleNamespace
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import audit
from core.refusals import RefusedError
from staff.login.factors import FACTORS
from staff.login.sign_ins import FACTOR_RESET
from staff.models import Staff

ADMINISTRATOR = "administrator"
REASON_LENGTH = 500
INVITED = audit.register("staff.invited", gettext_lazy("Invitation link made"))
SESSIONS_ENDED = audit.register("staff.sessionsEnded", gettext_lazy("Sessions ended"))
DISABLED = audit.register("staff.disabled", gettext_lazy("Staff account disabled"))
ENABLED = audit.register("staff.enabled", gettext_lazy("Staff account enabled"))


# Before and after an account is disabled, in the transaction, with staff, by and reason. The receivers, in the apps
# above, end what the account has open, and return how many by name.
account_disabling, account_disabled = Signal(), Signal()


@transaction.atomic
def invite_again(*, staff: Staff, reason: str, by: Staff | None = None) -> Staff:
    """Take the password away and end the sessions, for a new invitation link. Second factors stay."""
    staff = _lock(staff, by)
    if not (staff.is_active and staff.is_staff):
        raise RefusedError(_("The account is disabled."))
    staff.change_password(None, is_one_time=True)
    _record(INVITED, staff, reason, sessions=end_all_sessions(staff))
    return staff


@transaction.atomic
def reset_second_factor(*, staff: Staff, reason: str, by: Staff | None = None) -> SimpleNamespace:
    """Delete a person's second factors and recovery codes and end their sessions; the next login asks to enrol."""
    staff = _lock(staff, by)
    removed = Authenticator.objects.filter(user_id=staff.pk, type__in=FACTORS).count()
    Authenticator.objects.filter(user_id=staff.pk).delete()
    return _record(FACTOR_RESET, staff, reason, sessions=end_all_sessions(staff), factors=removed)


@transaction.atomic
def end_sessions(*, staff: Staff, reason: str, by: Staff | None = None) -> SimpleNamespace:
    """Sign a person out everywhere."""
    staff = _lock(staff, by)
    return _record(SESSIONS_ENDED, staff, reason, sessions=end_all_sessions(staff))


@transaction.atomic
def disable(*, staff: Staff, reason: str, by: Staff | None = None) -> SimpleNamespace:
    """Disable an account: it is signed out, its claims and proposals end. Never the last administrator's."""
    _require_colleague(staff, by)
    # Administrators are locked before the account, and always in one order.
    require_other_administrator(staff)
    staff = _lock(staff, by)
    if not staff.is_active:
        raise RefusedError(_("The account is disabled already."))
    reason = _checked(reason)
    ended = account_disabling.send(Staff, staff=staff, by=by, reason=reason)
    staff.is_active = False
    staff.save(update_fields=["is_active"])
    if staff.password_is_one_time:
        # Its invitation must not be valid again once the account is enabled.
        staff.change_password(None, is_one_time=True)
    ended += account_disabled.send(Staff, staff=staff, by=by, reason=reason)
    numbers: list[Any] = [number for _receiver, number in ended]
    counts = {name: number for one in numbers for name, number in one.items()}
    return _record(DISABLED, staff, reason, sessions=end_all_sessions(staff), **counts)


@transaction.atomic
def enable(*, staff: Staff, reason: str, by: Staff | None = None) -> None:
    """Enable a disabled account. Its password and second factor are those that it had."""
    staff = _lock(staff, by)
    if staff.is_active:
        raise RefusedError(_("The account is enabled already."))
    staff.is_active = True
    staff.save(update_fields=["is_active"])
    _record(ENABLED, staff, reason)


def administrators() -> QuerySet[Staff]:
    """The accounts that administer staff and can sign in."""
    in_role = Staff.groups.through.objects.filter(group__name=ADMINISTRATOR)
    allowed = Q(is_superuser=True) | Q(pk__in=in_role.values("staff_id"))
    return Staff.objects.filter(allowed, is_active=True, is_staff=True, password_is_one_time=False).order_by("pk")


def require_other_administrator(staff: Staff) -> None:
    """Raises RefusedError where this account is the only one that administers staff. In a transaction."""
    # Locked, so that two administrators cannot disable each other at the same time.
    present = list(administrators().select_for_update(no_key=True))
    if staff in present and len(present) == 1:
        raise RefusedError(_("This is the only active administrator: make another one first."))


def _lock(staff: Staff, by: Staff | None) -> Staff:
    _require_colleague(staff, by)
    return Staff.objects.select_for_update(no_key=True).get(pk=staff.pk)


def _require_colleague(staff: Staff, by: Staff | None) -> None:
    if by is not None and by.pk == staff.pk:
        raise RefusedError(_("This is your own account: ask another administrator."))
    if by is not None and staff.is_superuser and not by.is_superuser:
        raise RefusedError(_("Only superusers change the accounts of superusers."))


def end_all_sessions(staff: Staff) -> int:
    """End all sessions of a person; returns their number."""
    sessions = [
        session.pk
        for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator()
        if session.get_decoded().get("_auth_user_id") == str(staff.pk)
    ]
    Session.objects.filter(pk__in=sessions).delete()
    return len(sessions)


def _record(action: str, staff: Staff, reason: str, **numbers: int) -> SimpleNamespace:
    audit.record(action, object=staff.get_username(), detail={"reason": _checked(reason), **numbers})
    return SimpleNamespace(**numbers)


def _checked(reason: str) -> str:
    """The reason without surrounding white space. Raises ValidationError if it is empty or too long."""
    if not reason.strip():
        raise ValidationError({"reason": _("A reason is required.")})
    if len(reason) > REASON_LENGTH:
        raise ValidationError({"reason": _("At most %(limit)s characters.") % {"limit": REASON_LENGTH}})
    return reason.strip()
