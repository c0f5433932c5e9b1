"""What administrators do with the access of others: invite again, reset second factors, end sessions, disable, enable.

Each act ends in one line of the audit log with its reason. by: the administrator, who has verified a second factor;
None for an operator's command. All raise RefusedError, and ValidationError for a reason that is empty or too long.
"""

from typing import Any, NamedTuple

from allauth.mfa.models import Authenticator
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.dispatch import Signal
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import audit
from core.refusals import RefusedError
from staff.login import sessions
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
# above, end what the account has open, and return how many by a name of Ended.
account_disabling, account_disabled = Signal(), Signal()


class Ended(NamedTuple):
    """How many sessions were ended, second factors removed, claims returned and proposals declined."""

    sessions: int
    factors: int = 0
    claims: int = 0
    proposals: int = 0


@transaction.atomic
def invite_again(*, staff: Staff, reason: str, by: Staff | None = None) -> Staff:
    """Take the password away and end the sessions, for a new invitation link. Second factors stay."""
    staff = _lock(staff, by)
    if not (staff.is_active and staff.is_staff):
        raise RefusedError(_("The account is disabled."))
    _take_password(staff)
    _record(INVITED, staff, reason, sessions=sessions.end_all(staff.pk))
    return staff


@transaction.atomic
def reset_second_factor(*, staff: Staff, reason: str, by: Staff | None = None) -> Ended:
    """Delete a person's second factors and recovery codes and end their sessions.

    The next login asks them to enrol.
    """
    staff = _lock(staff, by)
    removed = Authenticator.objects.filter(user_id=staff.pk, type__in=FACTORS).count()
    Authenticator.objects.filter(user_id=staff.pk).delete()
    ended = sessions.end_all(staff.pk)
    _record(FACTOR_RESET, staff, reason, sessions=ended)
    return Ended(ended, factors=removed)


@transaction.atomic
def end_sessions(*, staff: Staff, reason: str, by: Staff | None = None) -> int:
    """Sign a person out everywhere; returns the number of their sessions."""
    staff = _lock(staff, by)
    ended = sessions.end_all(staff.pk)
    _record(SESSIONS_ENDED, staff, reason, sessions=ended)
    return ended


@transaction.atomic
def disable(*, staff: Staff, reason: str, by: Staff | None = None) -> Ended:
    """Disable an account: it is signed out, its claims return to the queue, and its open proposals are declined.

    The last administrator's account cannot be disabled, by an operator neither.
    """
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
        _take_password(staff)
    ended += account_disabled.send(Staff, staff=staff, by=by, reason=reason)
    numbers: list[Any] = [number for _receiver, number in ended]
    counts = {name: number for one in numbers for name, number in one.items()}
    done = Ended(sessions=sessions.end_all(staff.pk), **counts)
    _record(DISABLED, staff, reason, sessions=done.sessions, **counts)
    return done


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


def _take_password(staff: Staff) -> None:
    staff.set_unusable_password()
    staff.password_is_one_time = True
    staff.save(update_fields=["password", "password_is_one_time"])


def _record(action: str, staff: Staff, reason: str, **numbers: int) -> None:
    audit.record(action, object=staff.get_username(), detail={"reason": _checked(reason), **numbers})


def _checked(reason: str) -> str:
    """The reason without surrounding white space. Raises ValidationError if it is empty or too long."""
    if not reason.strip():
        raise ValidationError({"reason": _("A reason is required.")})
    if len(reason) > REASON_LENGTH:
        raise ValidationError({"reason": _("At most %(limit)s characters.") % {"limit": REASON_LENGTH}})
    return reason.strip()
