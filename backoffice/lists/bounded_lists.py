"""The lists of the back office: bounded, in the order of an index, and without deletion.

A page costs the same however long the list is. It begins after a row (keyset pagination by PostgreSQL's comparison of
rows), is counted to MAX_COUNT, and examines at most MAX_EXAMINED_ROWS rows where a filter has no index. Only the
filters that a list names are accepted: others would be scans, and of a secret's column an oracle.

A filter with `is_indexed` is a range of the list's order, or a small set that another index gives; one with
`is_always_applied` narrows the list without a parameter, too.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.checks import ModelAdminChecks
from django.contrib.admin.views.main import ERROR_FLAG, ORDER_VAR, PAGE_VAR, ChangeList
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.db import OperationalError
from django.db.models import F, Func, Model, QuerySet, TextField, Value
from django.db.models.expressions import Combinable
from django.db.models.lookups import GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual
from django.forms import MultipleHiddenInput
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.formats import number_format
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from psycopg.errors import QueryCanceled

from backoffice.lists.cells import date_column

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    from unfold.admin import ModelAdmin as _ModelAdmin

ROWS_ON_PAGE = 50
MAX_COUNT = 1_000
# How many rows a filter that no index serves examines.
MAX_EXAMINED_ROWS = 10_000

# The values of a row in the columns of the order.
Position = Sequence[Any]
_SEPARATOR = "~"


def bounded_count(rows: QuerySet[Any], limit: int = MAX_COUNT) -> int:
    """The number of rows; limit + 1 for all larger numbers."""
    return rows.order_by()[: limit + 1].count()


def count_text(count: int, limit: int = MAX_COUNT) -> str:
    """A number that was counted up to a limit, for people."""
    return number_format(min(count, limit), force_grouping=True) + ("+" if count > limit else "")


class KeysetChangeList(ChangeList):
    """A page of a list; `?p=` has the position of the row before it.

    total: the number of rows, as bounded_count gives it; None on further pages.
    next_page: a query string; empty at the end of the list.
    is_partial: no more rows were examined; the next page begins where this one stopped.
    """

    model_admin: Any
    max_count = MAX_COUNT
    total: int | None = None

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[str | Combinable]:
        """The order of the header that `?o=` names, or else the admin's; both are total."""
        self.texts, orders = self.model_admin.texts_of(request), self.model_admin.index_orders(request)
        # Only the first of several headers counts: an index carries one order.
        header = self.params.pop(ORDER_VAR, "").partition(".")[0]
        headers = {str(number): column_name(column) for number, column in enumerate(self.list_display)}
        if order := orders.get(headers.get(header.removeprefix("-"), "")):
            self.params[ORDER_VAR], self.order_note = header, ""
            self.order = [f"-{name}" for name in order] if header.startswith("-") else [*order]
        else:
            self.order_note = self.texts.order_note
            self.order = [str(name) for name in super().get_ordering(request, queryset)]
        return [*self.order]

    def get_filters_params(self, params: Any = None) -> dict[str, Any]:
        """Without the fields of the filters' form that were left empty."""
        return {name: values for name, values in super().get_filters_params(params).items() if any(values)}

    def get_results(self, request: HttpRequest) -> None:
        """Read a page, and one row more to know whether there is a next one."""
        start = self._requested_position(request)
        end = self._last_position(request, start)
        rows = self.queryset if end is None else self.queryset.filter(self._range(end, LessThanOrEqual))
        following = rows if start is None else rows.filter(self._range(start))
        matches = list(following[: self.list_per_page + 1])
        has_more = len(matches) > self.list_per_page
        self.result_list = matches[: self.list_per_page]
        stop = [getattr(self.result_list[-1], column.attname) for column in self._columns()] if has_more else end
        texts = [one.isoformat() if isinstance(one, datetime) else str(one) for one in stop or ()]
        self.next_page = self.get_query_string({PAGE_VAR: _SEPARATOR.join(texts)}) if stop else ""
        self.is_partial = not has_more and stop is not None
        self.is_continued = start is not None
        if start is None:
            self.total = bounded_count(rows, self.max_count) if has_more else len(matches)
        # What else Django's view and its templates read.
        self.result_count, self.full_result_count = len(self.result_list), None
        self.show_full_result_count, self.show_admin_actions = False, True
        self.can_show_all, self.multi_page = False, False
        self.paginator = Paginator(self.result_list, self.list_per_page)
        self.model_admin.prepare_rows(request, self.result_list)

    def _last_position(self, request: HttpRequest, start: Position | None) -> Position | None:
        """The last row to examine: None where indexes serve all filters, or the list ends before."""
        names = self.get_filters_params()
        indexed = [one for one in self.filter_specs if getattr(one, "is_indexed", False)]
        applied = (
            one
            for one in self.filter_specs
            if getattr(one, "is_always_applied", False) or names.keys() & {*one.expected_parameters()}
        )
        if self.query or all(one in indexed for one in applied):
            return None
        rows: Any = self.root_queryset
        for list_filter in indexed:
            rows = list_filter.queryset(request, rows)
        if start is not None:
            rows = rows.filter(self._range(start))
        columns = [field.attname for field in self._columns()]
        # The columns of the order alone, which an index may give without the rows.
        last: Position | None = (
            rows.order_by(*self.order).values_list(*columns)[MAX_EXAMINED_ROWS - 1 : MAX_EXAMINED_ROWS].first()
        )
        return last

    def _columns(self) -> list[Any]:
        names = [name.lstrip("-") for name in self.order]
        return [self.opts.pk if name == "pk" else self.opts.get_field(name) for name in names]

    def _requested_position(self, request: HttpRequest) -> Position | None:
        """None for the first page, and where the parameter is none."""
        texts, columns = request.GET.get(PAGE_VAR, "").split(_SEPARATOR), self._columns()
        try:
            position = tuple(field.to_python(text or None) for field, text in zip(columns, texts, strict=True))
        except (ValueError, ValidationError):
            return None
        return position if None not in position else None

    def _range(self, position: Position, lookup: Any = GreaterThan) -> Any:
        return keyset_filter(self._columns(), position, lookup, is_descending=self.order[0].startswith("-"))


def keyset_filter(
    columns: Sequence[Any], position: Sequence[Any], lookup: Any = GreaterThan, *, is_descending: bool
) -> Any:
    """The rows on a side of a position, as a range of the index: ROW(…) > ROW(…). lookup: of an ascending list."""
    if is_descending:
        lookup = {GreaterThan: LessThan, LessThanOrEqual: GreaterThanOrEqual}[lookup]
    values = [Value(value, output_field=column) for value, column in zip(position, columns, strict=True)]
    return lookup(_row(*[F(column.attname) for column in columns]), _row(*values))


def _row(*values: Any) -> Func:
    return Func(*values, function="ROW", output_field=TextField())


def column_name(column: Any) -> str:
    """The name of a column of a list, which may be a function."""
    return column if isinstance(column, str) else str(column.__name__)


class SeenValues(MultipleHiddenInput):
    """Hidden values. Django omits an empty list, so a concurrent change would go unnoticed."""

    def format_value(self, value: Any) -> Any:
        return value or [""]

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        return [value for value in super().value_from_datadict(data, files, name) if value]


class BackOfficeAdmin(_ModelAdmin):
    """Base of all admins: rows are never deleted, by superusers neither; lists are bounded."""

    # Unfold's would read permissions of actions from a table that an empty database does not have.
    checks_class = ModelAdminChecks
    show_full_result_count = False
    list_per_page = ROWS_ON_PAGE
    list_filter_submit = True
    show_facets = admin.ShowFacets.NEVER
    change_list_template = "admin/keyset_change_list.html"
    # The list's, if not the plural of the model's name.
    title: Any = ""
    # What an empty list says where nothing was searched or filtered.
    empty_title: Any = _("Nothing here yet")
    empty_text: Any = _("Entries will be listed here.")
    # The button that adds a row.
    add_label: Any = _("Add")
    # What the foot of the list says of the admin's order; a header's is said by its arrow.
    order_note: Any = ""

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Django's field, with the value that the person saw: what a colleague changed meanwhile stays."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None:
            field.show_hidden_initial = True
            if field.hidden_widget is MultipleHiddenInput:
                field.hidden_widget = SeenValues
        return field

    def save_model(self, request: HttpRequest, obj: Model, form: Any, change: bool) -> None:  # noqa: FBT001
        """Write the columns that the person changed and no other: the serving role may not update all."""
        columns = {field.name for field in obj._meta.concrete_fields}  # noqa: SLF001 - Django's public name for it
        obj.save(update_fields=[name for name in form.changed_data if name in columns] if change else None)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:  # noqa: FBT001
        """Likewise for relations: what the person added and removed."""
        if change:
            for name in {field.name for field in self.opts.many_to_many}.intersection(form.changed_data):
                seen = SeenValues().value_from_datadict(form.data, form.files, form.add_initial_prefix(name))
                chosen, related = form.cleaned_data[name], getattr(form.instance, name)
                related.remove(*(row for row in related.all() if str(row.pk) in seen and row not in chosen))
                related.add(*(row for row in chosen if str(row.pk) not in seen))
            form.cleaned_data = {}
        super().save_related(request, form, formsets, change)

    def get_list_display(self, request: HttpRequest) -> Any:
        """Instants in the pages' time zone."""
        return [
            date_column(self.model, one) if isinstance(one, str) else one for one in super().get_list_display(request)
        ]

    def index_orders(self, request: HttpRequest) -> Mapping[str, tuple[str, ...]]:
        """The columns whose headers sort the list: by each, an ascending and total order that an index carries."""
        return {}

    def get_sortable_by(self, request: HttpRequest) -> Any:
        orders = self.index_orders(request)
        return [column for column in self.get_list_display(request) if column_name(column) in orders]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return KeysetChangeList

    def texts_of(self, request: HttpRequest) -> Any:
        """What has `title`, `order_note`, `empty_title` and `empty_text` of the list."""
        return self

    def head_of(self, request: HttpRequest) -> dict[str, Any]:
        """The context of `list_before_template`, for who may see the list."""
        return {}

    def prepare_rows(self, request: HttpRequest, rows: list[Any]) -> None:
        """Load what the columns show of all rows at once."""

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Only what the list's own filters send."""
        filters = self.list_filter if request is None else self.get_list_filter(request)
        return lookup in {name for one in filters for name in _lookups_of(one)}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list; after an invalid or slow query the bare list and a message. Raises PermissionDenied."""
        if request.method == "POST" and self.has_view_permission(request):
            actions = self.get_actions(request)
            if not actions or not actions.keys() >= {*request.POST.getlist("action")} - {""}:
                raise PermissionDenied
        if any("\0" in text for name, values in request.GET.lists() for text in (name, *values)):
            return _bare_list(request, _("Null characters are not allowed."))
        if ERROR_FLAG in request.GET:
            return _bare_list(request, _("Invalid filter."))
        try:
            # One name for the list everywhere, in place of Django's "Select … to change".
            context = {"title": self.texts_of(request).title or capfirst(self.opts.verbose_name_plural)}
            if request.method == "GET" and self.has_view_permission(request):
                context |= self.head_of(request)
            return super().changelist_view(request, context | (extra_context or {}))
        except ValidationError:
            # An action's rows have malformed ids.
            return _bare_list(request, _("Invalid selection."))
        except OperationalError as error:
            if not request.GET or not isinstance(error.__cause__, QueryCanceled):
                raise
            return _bare_list(request, _("The search took too long. Search for a longer text, or use other filters."))


def _bare_list(request: HttpRequest, message: Any) -> HttpResponse:
    messages.error(request, message)
    return redirect(request.path)


def _lookups_of(list_filter: Any) -> tuple[str, ...]:
    if hasattr(list_filter, "parameter_name"):
        return (list_filter.parameter_name,)
    name = list_filter if isinstance(list_filter, str) else list_filter[0]
    return tuple(name + suffix for suffix in ("", "__exact", "__id__exact", "__isnull"))
