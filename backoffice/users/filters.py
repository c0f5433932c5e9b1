"""The filters of the lists of users and of what happened to them. is_indexed: see backoffice/lists/bounded_lists.py."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.admin import ChoicesFieldListFilter
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter, RelatedDropdownFilter

from backoffice.access import OVERSIGHT_PERMISSION
from backoffice.lists.filters import ChoiceFilter, ValueFilter
from backoffice.lists.pages import MODE
from backoffice.lists.waiting_time import AgeState, limits
from partners.models import Mode
from users.decisions.reasons import Reason
from users.decisions.risk_flags import RISK_FLAGS, visible_flags, with_risk_flags
from users.models import AccessRecord, Claim, Requirement, Status
from users.models.case import in_mode
from users.models.columns import IDENTITY_PERMISSION
from users.search import MAX_USERS_OF_RECORDS, find_user_ids

ME, NOBODY = "me", "nobody"
YES, NO = "yes", "no"
NO_CODE, NO_FLAG = "none", "none"
NOT_OPENED, ALONE = "no", "alone"
OVERDUE, NOT_YET = "overdue", "later"
# The users of the queue.
TO_DECIDE = Q(status=Status.PENDING_COMPLIANCE, waiting_since__isnull=False)


class CodeFilter(ValueFilter):
    """An exact code in any letter case."""

    def matching(self, request: HttpRequest, value: str) -> Q:
        return Q(**{f"{self.parameter_name}__in": {value, value.upper()}})


class ProvinceFilter(CodeFilter):
    """Filters by the province's code, or its name where it has none."""

    title, parameter_name = _("province code"), "province"


class CountryFilter(CodeFilter):
    """Filters by the country's code."""

    title, parameter_name = _("country code"), "country"


class StatusFilter(ChoicesFieldListFilter):
    """Filters by status, the second column of the index user_by_status; shown above the list."""

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
    """Filters by the mode of the users' partner: live by default, and sandbox."""

    title, parameter_name = _("mode"), MODE
    all_option = (Mode.LIVE.value, Mode.LIVE.label)
    is_always_applied = True

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: type[Model], model_admin: Any) -> None:
        # The indexes that order other rows are of one mode, or begin with it.
        self.is_indexed = not issubclass(model, AccessRecord)
        super().__init__(request, params, model, model_admin)

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(Mode.SANDBOX.value, Mode.SANDBOX.label)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return in_mode(queryset, mode_of(request))


class WaitingTimeFilter(ChoiceFilter):
    """Filters by the age of the case, which the list is ordered by."""

    title, parameter_name = _("waiting time"), "waiting"
    options = AgeState.choices
    is_indexed = True

    def matching(self, request: HttpRequest, value: str) -> Q:
        soon, late = limits(timezone.now())
        ranges: dict[str, Q] = {
            AgeState.LATE: Q(waiting_since__lte=late),
            AgeState.DUE_SOON: Q(waiting_since__gt=late, waiting_since__lte=soon),
            AgeState.IN_TIME: Q(waiting_since__gt=soon),
        }
        return ranges.get(value, Q())


class DueFilter(ChoiceFilter):
    """Filters by whether the answer of the partner is overdue; the list is ordered by when it is due."""

    title, parameter_name = _("due"), "due"
    options = ((OVERDUE, _("Overdue")), (NOT_YET, _("Not yet due")))
    is_indexed = True

    def matching(self, request: HttpRequest, value: str) -> Q:
        now = timezone.now()
        return {OVERDUE: Q(requirements_due_at__lt=now), NOT_YET: Q(requirements_due_at__gte=now)}.get(value, Q())


class ClaimedFilter(ChoiceFilter):
    """Filters by who has claimed the case."""

    title, parameter_name = _("claim"), "claimed"
    options = ((ME, _("Me")), (NOBODY, _("Nobody")))

    @property
    def is_indexed(self) -> bool:
        """One's own claims are few."""
        return bool(self.value() == ME)

    def matching(self, request: HttpRequest, value: str) -> Q:
        if value == ME:
            return Q(pk__in=Claim.objects.filter(staff=request.user.pk).values("user"))
        return Q(claim__isnull=True) if value == NOBODY else Q()


class AskedByFilter(ChoiceFilter):
    """Filters by who asked the partner for what is not closed; there is little of it."""

    title, parameter_name = _("asked"), "asked"
    options = ((ME, _("By me")),)
    is_indexed = True

    def matching(self, request: HttpRequest, value: str) -> Q:
        asked = Requirement.objects.filter(by=request.user.pk, closed_at=None)
        return Q(pk__in=asked.order_by().values("user")) if value == ME else Q()


class RiskFlagsFilter(ChoiceFilter):
    """Filters by the risk flags that the reader sees: whether there are any, or one of them."""

    title, parameter_name = _("risk flags"), "flags"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, Any]]:
        seen = visible_flags(sees_identity=sees_identity(request))
        # Those whom the role does not see all flags of may have others.
        none = _("Without risk flags") if len(seen) == len(RISK_FLAGS) else _("Without risk flags that your role sees")
        return [(YES, _("With risk flags")), (NO, none), *((kind.code, kind.title) for kind in seen)]

    @property
    def is_indexed(self) -> bool:
        """Few users have some of them."""
        kind = RISK_FLAGS.get(self.value())
        return kind is not None and kind.is_indexed

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        wanted, may = self.value(), sees_identity(request)
        if wanted in {YES, NO}:
            users = with_risk_flags(queryset, sees_identity=may)
            return users.exclude(flag_codes=[]) if wanted == YES else users.filter(flag_codes=[])
        seen = {kind.code: kind for kind in visible_flags(sees_identity=may)}
        return queryset.filter(seen[wanted].condition) if wanted in seen else queryset


# Of decisions


class ReviewerFilter(RelatedDropdownFilter):  # type: ignore[misc]
    """By who decided; of two people, who approved."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.title = _("reviewer")


class ReasonFilter(ChoiceFilter):
    """By the code of the reason."""

    title, parameter_name = _("reason"), "reason_code"
    options = (
        *Reason.choices,
        (NO_CODE, _("Without a reason code")),
    )

    def matching(self, request: HttpRequest, value: str) -> Q:
        return Q(reason_code="" if value == NO_CODE else value)


class FlagFilter(ChoiceFilter):
    """By the risk flags that were kept with the decision, of those that the reader sees."""

    title, parameter_name = _("risk flag"), "flag"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, Any]]:
        seen = visible_flags(sees_identity=sees_identity(request))
        return [*((kind.code, kind.title) for kind in seen), (NO_FLAG, _("Without risk flags"))]

    def matching(self, request: HttpRequest, value: str) -> Q:
        if value == NO_FLAG:
            return Q(basis__riskFlags=[])
        is_known = value in dict(self.lookups(request, None))
        return Q(basis__riskFlags__contains=[{"code": value}]) if is_known else Q()


class OpenedFilter(ChoiceFilter):
    """By whether who decided had opened the case: not everybody sees it of others."""

    title, parameter_name = _("case opened"), "opened"
    options = ((NOT_OPENED, _("Not opened")), (ALONE, _("Not opened, by one person")))

    def matching(self, request: HttpRequest, value: str) -> Q:
        if value not in {NOT_OPENED, ALONE}:
            return Q()
        # A decision without a basis is a simulated one.
        unopened = Q(basis__isnull=False, basis__openSeconds=None)
        if not request.user.has_perm(OVERSIGHT_PERMISSION):
            unopened &= Q(by=request.user.pk)
        return unopened & Q(proposal=None) if value == ALONE else unopened
