"""The pages of one row: read-only fields, tables of related rows, and links to what can be done with it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied
from django.db.models import Model, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html

from backoffice.lists.bounded_lists import BackOfficeAdmin
from backoffice.lists.cells import date_column
from partners.models import Mode
from users.models import User

TABLE_ROWS = 50
# The lists of users show real users unless this parameter of the query string asks for those of sandbox partners.
MODE = "mode"
QUEUE = "admin:users_user_queue"
ASKED = "admin:users_user_asked"
DECISIONS = "admin:users_statuschange_changelist"
_VIEW_AUDIT_LOG = "core.view_auditentry"


@dataclass(frozen=True, slots=True)
class Table:
    """At most TABLE_ROWS rows, and a link to the list of all. note: below the title. empty: where there is no row."""

    title: Any
    headings: Sequence[Any]
    rows: Sequence[Sequence[Any]]
    all_rows: str = ""
    is_cut: bool = False
    note: Any = ""
    empty: Any = ""


def latest_rows(title: Any, headings: Sequence[Any], rows: Sequence[Sequence[Any]], *, all_rows: str) -> Table:
    """A table. rows: TABLE_ROWS + 1 where there are as many."""
    return Table(title, headings, rows[:TABLE_ROWS], all_rows, is_cut=len(rows) > TABLE_ROWS)


class ReadOnlyAdmin(BackOfficeAdmin):
    """Shows `fields` and `tables_of`; accepts `editable_fields` and `addable_fields` and nothing else."""

    editable_fields: tuple[str, ...] = ()
    addable_fields: tuple[str, ...] = ()
    # The permissions that some of the fields need besides the page's.
    guarded_fields: ClassVar[Mapping[Any, str]] = {}
    # The attribute that names a row in the audit log; empty where the log has none of them.
    audited_by = ""
    actions_detail: Any = ()
    change_form_template = "admin/change_form_with_tables.html"

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Django's, where there is anything to fill in."""
        return bool(self.addable_fields) and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Django's, where there is anything to edit."""
        return bool(self.editable_fields) and super().has_change_permission(request, obj)

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """The fields to fill in of a new row, all fields of an existing one."""
        if obj is None:
            return [(None, {"fields": self.addable_fields})]
        return [
            (title, {**options, "fields": [date_column(self.model, name) for name in options["fields"]]})
            for title, options in super().get_fieldsets(request, obj)
        ]

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Those that the person may see."""
        guarded, may = self.guarded_fields, request.user.has_perm
        return [name for name in super().get_fields(request, obj) if name not in guarded or may(guarded[name])]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """All fields but the addable or editable ones."""
        writable = self.addable_fields if obj is None else self.editable_fields
        fieldsets = self.fieldsets or ((None, {"fields": self.fields or ()}),)
        names = [name for _title, options in fieldsets for name in options["fields"]]
        return [date_column(self.model, name) for name in names if name not in writable]

    def matching(self, request: HttpRequest, term: str) -> Q:
        """The rows that match a search, by exact values of indexed columns."""
        raise NotImplementedError

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip() if self.search_fields else ""
        return (queryset.filter(self.matching(request, term)) if term else queryset), False

    def tables_of(self, request: HttpRequest, obj: Any) -> Iterable[Table]:
        """The related rows that the person may see."""
        return ()

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Django's page with the tables below the fields."""
        row = kwargs["obj"]
        context["tables"] = list(self.tables_of(request, row)) if row is not None else []
        possible = self.possible_actions(request, row) if row is not None and self.actions_detail else []
        context["more_actions"] = [one for one in possible if not one.method.row_action.in_header]
        context["show_history"] = self.has_history_permission(request)
        return super().render_change_form(request, context, *args, **kwargs)

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> None:  # type: ignore[override]
        """Do nothing, here and for changes: triggers and rules write the audit log, which is the only trail."""

    log_change: Any = log_addition

    def has_history_permission(self, request: HttpRequest) -> bool:
        """Whether the person may see the history of a row."""
        return bool(self.audited_by) and request.user.has_perm(_VIEW_AUDIT_LOG)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Redirect to what the audit log says of the row. Raises PermissionDenied and Http404."""
        if not self.has_history_permission(request):
            raise PermissionDenied
        row = self.get_object_or_404(request, object_id)
        query = {"object": getattr(row, self.audited_by)}
        return redirect(reverse("admin:core_auditentry_changelist", query=query))

    def get_object_or_404(self, request: HttpRequest, object_id: str) -> Any:
        """The row of a page's address, by the admin's queryset. Raises Http404."""
        if (row := self.get_object(request, object_id)) is None:
            raise Http404
        return row

    def may_act(self, request: HttpRequest, obj: Any) -> bool:
        """Whether the person may act on this row, with the permission of the action."""
        return True

    def redirect_to(self, obj: Model) -> HttpResponse:
        """A redirect to the row's page."""
        return redirect(address_of(obj))

    def possible_actions(self, request: HttpRequest, obj: Any) -> list[Any]:
        """Unfold's actions that the person may do in the row's state (backoffice/actions.py)."""
        if not self.may_act(request, obj):
            return []
        actions = super().get_actions_detail(request, obj.pk)  # type: ignore[misc]
        return [one for one in actions if one.method.row_action.is_possible(obj)]

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        """Those whose link is in the header."""
        row = self.get_object(request, str(object_id)) if self.actions_detail else None
        possible = self.possible_actions(request, row) if row else []
        return [one for one in possible if one.method.row_action.in_header]


def address_of(row: Model | type[Model]) -> str:
    """The address of a row's page, or of a model's list."""
    name = f"admin:{row._meta.app_label}_{row._meta.model_name}"  # noqa: SLF001 - Django's public name for it
    return reverse(f"{name}_changelist") if isinstance(row, type) else reverse(f"{name}_change", args=(row.pk,))


def link(row: Model, text: object) -> str:
    """A link to the row's page."""
    return format_html('<a href="{}">{}</a>', address_of(row), text)


def url_for(name: str, user: User) -> str:
    """The address of a list in the mode of this user. name: QUEUE."""
    return reverse(name, query={MODE: Mode.SANDBOX.value} if user.is_sandbox else {})
