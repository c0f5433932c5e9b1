"""The filters of the lists of users and of what happened to them. is_indexed: see backoffice/lists/bounded_lists.py."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.admin import ChoicesFieldListFilter
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter

from backoffice.lists.filters import ChoiceFilter, Conditions, ValueFilter
from backoffice.lists.pages import MODE
from backoffice.lists.waiting_time import AgeState, limits
from partners.models import Mode
from users.decisions.reasons import Reason
from users.decisions.risk_flags import RISK_FLAGS, visible_flags, with_risk_flags
from users.models import AccessRecord, Claim, Requirement, Status
from users.models.case import in_mode
from users.models.columns import IDENTITY_PERMISSION
from users.search import MAX_USERS_OF_RECORDS, find_user_ids

ME, OVERDUE = "me", "overdue"
# The users of the queue.
TO_DECIDE = Q(status=Status.PENDING_COMPLIANCE, waiting_since__isnull=False)


class CodeFilter(ValueFilter):
    """An exact code in any letter case."""

    def matching(self, request: HttpRequest, value: str) -> Q:
        return Q(**{f"{self.parameter_name}__in": {value, value.upper()}})


class ProvinceFilter(CodeFilter):
    """By the province's code, or its name where it has none."""

    title, parameter_name = _("province code"), "province"


class CountryFilter(CodeFilter):
    """By the country's code."""

    title, parameter_name = _("country code"), "country"


class StatusFilter(ChoicesFieldListFilter):
    """By status, the second column of the index user_by_status; shown above the list."""

    is_indexed = True


def mode_of(request: HttpRequest) -> Mode:
    """The mode that a list was asked for; live where none was."""
    return Mode.SANDBOX if request.GET.get(MODE) == Mode.SANDBOX else Mode.LIVE


def sees_identity(request: HttpRequest) -> bool:
    """Whether the person may see, and search by, birth dates."""
    return request.user.has_perm(IDENTITY_PERMISSION)


def users_found(request: HttpRequest, term: str) -> list[UUID]:
    """The ids of the users that a search for a user's records finds, and a warning where there are more."""
    found, is_cut = find_user_ids(term, mode_of(request), sees_identity=sees_identity(request))
    if is_cut:
        warn_of_cut(request, MAX_USERS_OF_RECORDS)
    return found


def warn_of_cut(request: HttpRequest, limit: int) -> None:
    """Say that a search has more matches than it examines."""
    messages.warning(request, gettext("Only the first %(limit)s matches were examined.") % {"limit": limit})


class ModeFilter(DropdownFilter):  # type: ignore[misc]
    """By the mode of the users' partner: live by default, and sandbox."""

    title, parameter_name = _("mode"), MODE
    all_option = (Mode.LIVE.value, Mode.LIVE.label)
    is_always_applied = True

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: type[Model], model_admin: Any) -> None:
        # The indexes that order other rows are of one mode, or begin with it.
        self.is_indexed = not issubclass(model, AccessRecord)
        super().__init__(request, params, model, model_admin)

    def lookups(self, *_args: Any) -> list[tuple[str, Any]]:
        return [(Mode.SANDBOX.value, Mode.SANDBOX.label)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return in_mode(queryset, mode_of(request))


class WaitingTimeFilter(ChoiceFilter):
    """By the age of the case, which the list is ordered by."""

    title, parameter_name, is_indexed = _("waiting time"), "waiting", True

    def conditions(self, request: HttpRequest) -> Conditions:
        soon, late = limits(timezone.now())
        ranges = {
            AgeState.IN_TIME: Q(waiting_since__gt=soon),
            AgeState.DUE_SOON: Q(waiting_since__gt=late, waiting_since__lte=soon),
            AgeState.LATE: Q(waiting_since__lte=late),
        }
        return {state.value: (state.label, condition) for state, condition in ranges.items()}


class DueFilter(ChoiceFilter):
    """By whether the answer of the partner is overdue; the list is ordered by when it is due."""

    title, parameter_name, is_indexed = _("due"), "due", True

    def conditions(self, request: HttpRequest) -> Conditions:
        now = timezone.now()
        return {
            OVERDUE: (_("Overdue"), Q(requirements_due_at__lt=now)),
            "later": (_("Not yet due"), Q(requirements_due_at__gte=now)),
        }


class ClaimedFilter(ChoiceFilter):
    """By who has claimed the case."""

    title, parameter_name = _("claim"), "claimed"

    @property
    def is_indexed(self) -> bool:
        """One's own claims are few."""
        return bool(self.value() == ME)

    def conditions(self, request: HttpRequest) -> Conditions:
        own = Claim.objects.filter(staff=request.user.pk).values("user")
        return {ME: (_("Me"), Q(pk__in=own)), "nobody": (_("Nobody"), Q(claim__isnull=True))}


class AskedByFilter(ChoiceFilter):
    """By who asked the partner for what is not closed; there is little of it."""

    title, parameter_name, is_indexed = _("asked"), "asked", True

    def conditions(self, request: HttpRequest) -> Conditions:
        asked = Requirement.objects.filter(by=request.user.pk, closed_at=None).order_by()
        return {ME: (_("By me"), Q(pk__in=asked.values("user")))}


class RiskFlagsFilter(ChoiceFilter):
    """By the risk flags that the reader sees: whether there are any, or one of them."""

    title, parameter_name = _("risk flags"), "flags"

    @property
    def is_indexed(self) -> bool:
        """Few users have some of them."""
        kind = RISK_FLAGS.get(self.value())
        return kind is not None and kind.is_indexed

    def conditions(self, request: HttpRequest) -> Conditions:
        seen = visible_flags(sees_identity=sees_identity(request))
        # Those whom the role does not see all flags of may have others.
        none = _("Without risk flags") if len(seen) == len(RISK_FLAGS) else _("Without risk flags that your role sees")
        return {
            "yes": (_("With risk flags"), ~Q(flag_codes=[])),
            "no": (none, Q(flag_codes=[])),
            **{kind.code: (kind.title, kind.condition) for kind in seen},
        }

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() in {"yes", "no"}:
            queryset = with_risk_flags(queryset, sees_identity=sees_identity(request))
        return super().queryset(request, queryset)


# Of decisions


class ReasonFilter(ChoiceFilter):
    """By the code of the reason."""

    title, parameter_name = _("reason"), "reason_code"

    def conditions(self, request: HttpRequest) -> Conditions:
        coded = {reason.value: (reason.label, Q(reason_code=reason.value)) for reason in Reason}
        return coded | {"none": (_("Without a reason code"), Q(reason_code=""))}
