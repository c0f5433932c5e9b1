"""The filters of the list of decisions."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import RelatedDropdownFilter

from backoffice.access import OVERSIGHT_PERMISSION
from backoffice.lists.filters import ChoiceFilter
from backoffice.users.user_filters import sees_identity
from users.decisions.reasons import REASONS
from users.decisions.risk_flags import visible_flags

NO_CODE, NO_FLAG = "none", "none"
NOT_OPENED, ALONE = "no", "alone"


class ReviewerFilter(RelatedDropdownFilter):  # type: ignore[misc]
    """By who decided; of two people, who approved."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.title = _("reviewer")


class ReasonFilter(ChoiceFilter):
    """By the code of the reason."""

    title, parameter_name = _("reason"), "reason_code"
    options = (
        *{reason.code: reason.label for reasons in REASONS.values() for reason in reasons}.items(),
        (NO_CODE, _("Without a reason code")),
    )

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        code = self.value()
        return queryset.filter(reason_code="" if code == NO_CODE else code) if code else queryset


class FlagFilter(ChoiceFilter):
    """By the risk flags that were kept with the decision, of those that the reader sees."""

    title, parameter_name = _("risk flag"), "flag"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, Any]]:
        seen = visible_flags(sees_identity=sees_identity(request))
        return [*((kind.code, kind.title) for kind in seen), (NO_FLAG, _("Without risk flags"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        flag = self.value()
        if flag == NO_FLAG:
            return queryset.filter(basis__riskFlags=[])
        known = {code for code, _title in self.lookups(request, None)}
        return queryset.filter(basis__riskFlags__contains=[{"code": flag}]) if flag in known else queryset


class OpenedFilter(ChoiceFilter):
    """By whether who decided had opened the case: not everybody sees it of others."""

    title, parameter_name = _("case opened"), "opened"
    options = ((NOT_OPENED, _("Not opened")), (ALONE, _("Not opened, by one person")))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in {NOT_OPENED, ALONE}:
            return queryset
        # A decision without a basis is a simulated one.
        unopened = queryset.filter(basis__isnull=False, basis__openSeconds=None)
        if not request.user.has_perm(OVERSIGHT_PERMISSION):
            unopened = unopened.filter(by=request.user.pk)
        return unopened.filter(proposal=None) if self.value() == ALONE else unopened
