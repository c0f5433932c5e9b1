"""What every page of the back office shares: nothing is deleted, little is edited, and no list is unbounded.

A list of the back office costs the same however many rows there are: it counts to LIST_LIMIT and no
further, has one order (that of an index), and takes only the filters it names. Filters by other fields
would be scans, and of a secret's column an oracle.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ORDER_VAR, ChangeList
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import OperationalError
from django.db.models import Model, Q, QuerySet
from django.db.models.expressions import Combinable
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import cached_property
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from psycopg.errors import QueryCanceled

from partners.admin.date_formatting import shown

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    from unfold.admin import ModelAdmin as _ModelAdmin  # looks like the rest of the back office

LIST_LIMIT = 1_000
ROWS_ON_PAGE = 50


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """Pages of the first LIST_LIMIT rows; it never counts further."""

    @cached_property
    def _counted(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by()[: LIST_LIMIT + 1].count())

    @cached_property
    def count(self) -> int:
        """How many rows there are to page through."""
        return min(self._counted, LIST_LIMIT)

    @property
    def is_cut(self) -> bool:
        """Whether there are more rows than are paged through."""
        return self._counted > LIST_LIMIT


class BoundedChangeList(ChangeList):
    """A list in the one order that an index gives, whatever `?o=` asks for."""

    def __init__(self, request: HttpRequest, *args: Any) -> None:
        self.request = request
        super().__init__(request, *args)

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[str | Combinable]:
        """The admin's order, made total."""
        self.params.pop(ORDER_VAR, None)
        return super().get_ordering(request, queryset)

    def get_results(self, request: HttpRequest) -> None:
        """Nothing narrowed the list: then its number is that of all rows, and there is nothing to show all of."""
        super().get_results(request)
        if not self.has_active_filters and not self.query:
            self.full_result_count = self.result_count

    @property
    def limit(self) -> int | None:
        """How many rows are listed where there are more; otherwise None."""
        return LIST_LIMIT if self.paginator.is_cut else None

    @property
    def older_rows(self) -> str:
        """On the last page of a cut list: the query string of the rows after it, where the order allows one."""
        assert isinstance(self.model_admin, GuardedAdmin)  # noqa: S101 - which makes these lists
        continuation = self.model_admin.continuation_of(self.request)
        if self.limit is None or continuation is None or self.page_num != self.paginator.num_pages:
            return ""
        lookup, column = continuation
        last = list(self.result_list)[-1]
        return self.get_query_string({lookup: str(getattr(last, column))})


class TextFilter(admin.SimpleListFilter):
    """A filter that is typed: for values too many to list."""

    template = "admin/text_filter.html"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[Any, str]]:
        """None to choose from."""
        return ()

    def has_output(self) -> bool:
        """Shown always."""
        return True

    def choices(self, changelist: Any) -> Iterator[Any]:
        """What the little form needs: its own value, and the rest of the query string."""
        others = changelist.get_filters_params() | {"q": [changelist.query]}
        yield {
            "name": self.parameter_name,
            "value": self.value() or "",
            "others": [(k, v) for k, values in others.items() if k != self.parameter_name for v in values if v],
            "without": changelist.get_query_string(remove=[self.parameter_name]),
        }


class GuardedAdmin(_ModelAdmin):
    """No row is ever deleted, by superusers neither; lists are bounded."""

    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = ROWS_ON_PAGE
    list_max_show_all = ROWS_ON_PAGE
    sortable_by = ()
    show_facets = admin.ShowFacets.NEVER
    change_list_template = "admin/bounded_change_list.html"
    # How to go on where a cut list ends: the lookup, and the column of its last row that it takes.
    continuation: tuple[str, str] | None = None

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody has it."""
        return False

    def get_list_display(self, request: HttpRequest) -> Any:
        """Instants in the pages' time zone."""
        return [shown(self.model, one) if isinstance(one, str) else one for one in super().get_list_display(request)]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """The bounded one."""
        return BoundedChangeList

    def continuation_of(self, request: HttpRequest) -> tuple[str, str] | None:
        """The continuation of the list that is asked for."""
        return self.continuation

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Only what the list's own filters and links send."""
        allowed = {name for one in self.list_filter for name in _lookups_of(one)}
        continuation = self.continuation_of(request) if request else None
        return lookup in allowed or (continuation is not None and lookup == continuation[0])

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list; where it was asked for what the database cannot take, or not in time, the bare list and why.

        Raises PermissionDenied where it is sent an action by somebody to whom it offers none.
        """
        if request.method == "POST" and self.has_view_permission(request) and not self.get_actions(request):
            raise PermissionDenied
        if any("\0" in text for name, values in request.GET.lists() for text in (name, *values)):
            messages.error(request, _("Null characters are not allowed."))
            return redirect(request.path)
        try:
            # One name for the list everywhere, in place of Django's "Select … to change".
            title = {"title": capfirst(self.opts.verbose_name_plural)}
            return super().changelist_view(request, title | (extra_context or {}))
        except OperationalError as error:
            if not request.GET or not isinstance(error.__cause__, QueryCanceled):
                raise
            messages.error(request, _("That took too long. Search for an exact value, or choose other filters."))
            return redirect(request.path)


def _lookups_of(list_filter: Any) -> tuple[str, ...]:
    if not isinstance(list_filter, str):
        return (list_filter.parameter_name,)
    return tuple(list_filter + suffix for suffix in ("", "__exact", "__id__exact", "__isnull"))


class ReadOnlyAdmin(GuardedAdmin):
    """Shows `fields`; takes what `editable_fields` and `addable_fields` name and nothing else."""

    editable_fields: tuple[str, ...] = ()
    addable_fields: tuple[str, ...] = ()

    def has_add_permission(self, request: HttpRequest) -> bool:
        """As Django has it, where there is anything to give."""
        return bool(self.addable_fields) and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """As Django has it, where there is anything to edit."""
        return bool(self.editable_fields) and super().has_change_permission(request, obj)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """As Django has it."""
        return super().has_view_permission(request, obj)

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Adding asks for what can be given; a row is shown whole."""
        if obj is None:
            return [(None, {"fields": self.addable_fields})]
        return [
            (title, {**options, "fields": [shown(self.model, name) for name in options["fields"]]})
            for title, options in super().get_fieldsets(request, obj)
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """All fields but those named."""
        taken = self.addable_fields if obj is None else self.editable_fields
        return [shown(self.model, name) for name in self.shown_fields() if name not in taken]

    def save_model(self, request: HttpRequest, obj: Model, form: Any, change: bool) -> None:  # noqa: FBT001
        """Writes what may be edited and nothing else: the serving role may update no other column."""
        obj.save(update_fields=self.editable_fields if change else None)

    def shown_fields(self) -> list[str]:
        """The names in `fields` or `fieldsets`."""
        if self.fieldsets:
            return [str(name) for _title, options in self.fieldsets for name in options["fields"]]
        return [str(name) for name in self.fields or ()]

    def matching(self, term: str) -> Q:
        """The rows that a search for `term` finds: by exact values of indexed columns."""
        raise NotImplementedError

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """The rows that match."""
        term = search_term.strip() if self.search_fields else ""
        return (queryset.filter(self.matching(term)) if term else queryset), False
