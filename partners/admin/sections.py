"""Detail pages with tables of related rows and forms for consequential actions below the fields.

An action is a permission, a POST form, the rule function that commands call too, and a line in the
admin's log, in one transaction. Where it is refused, the page is shown again with what was typed.
"""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from partners.admin.base import ReadOnlyAdmin

SHOWN = 50


@dataclass(frozen=True, slots=True)
class Table:
    """The latest rows of something: at most SHOWN, and a link to the list that has them all.

    note: what must be known to read it. empty: what is said where there is no row.
    """

    title: Any
    headings: Sequence[Any]
    rows: Sequence[Sequence[Any]]
    all_rows: str = ""
    is_cut: bool = False
    note: Any = ""
    empty: Any = ""


def table(title: Any, headings: Sequence[Any], rows: Sequence[Sequence[Any]], *, all_rows: str) -> Table:
    """A table of rows of which one more than SHOWN were asked for."""
    return Table(title, headings, rows[:SHOWN], all_rows, is_cut=len(rows) > SHOWN)


class ActionForm(forms.Form):
    """What an action asks for. It is refused where what the page showed has changed since."""

    version = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, *, version: str, data: QueryDict | None = None) -> None:
        super().__init__(data, initial={"version": version}, auto_id=f"{type(self).__name__.lower()}-%s")
        self._present = version

    def clean(self) -> dict[str, Any]:
        """Compares versions. Raises ValidationError."""
        cleaned = super().clean() or {}
        if cleaned.get("version") != self._present:
            raise ValidationError(_("This has changed since the page was loaded: look at it again."))
        return cleaned

    def refresh(self) -> None:
        """Readies the form for being shown again, under what the page shows then."""
        data = QueryDict(mutable=True)
        data.update(self.data)
        data["version"] = self._present
        self.data = data


@dataclass(frozen=True, slots=True)
class Action:
    """A form below the fields. url: where it is posted to; it names the action too."""

    title: Any
    button: Any
    url: str
    form: ActionForm
    note: Any = ""
    is_dangerous: bool = field(default=False, kw_only=True)


class SectionedAdmin(ReadOnlyAdmin):
    """A detail page with `tables_of` and `actions_of` a row below its fields."""

    change_form_template = "admin/sections_change_form.html"

    def tables_of(self, request: HttpRequest, obj: Any) -> Iterable[Table]:
        """What else the person may see of this row."""
        return ()

    def actions_of(self, request: HttpRequest, obj: Any) -> Iterable[Action]:
        """What the person may do with this row as it is."""
        return ()

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,  # noqa: FBT001, FBT002 - Django's signature
        change: bool = False,  # noqa: FBT001, FBT002
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        """Django's page with the sections."""
        if obj is not None:
            refused: Action | None = context.get("refused")
            context["action_forms"] = [
                refused if refused and refused.url == action.url else action for action in self.actions_of(request, obj)
            ]
            context["tables"] = list(self.tables_of(request, obj))
        return super().render_change_form(request, context, add, change, form_url, obj)

    def require(self, request: HttpRequest, permission: str, obj: Any = None) -> None:
        """Raises PermissionDenied where the person lacks the permission, or may not see the row."""
        if not (request.user.has_perm(permission) and self.has_view_permission(request, obj)):
            raise PermissionDenied

    def page_of(self, obj: Model) -> HttpResponse:
        """To the row's page."""
        return redirect(reverse(f"admin:{obj._meta.app_label}_{obj._meta.model_name}_change", args=(obj.pk,)))  # noqa: SLF001

    def show_again(self, request: HttpRequest, obj: Model, refused: Action) -> HttpResponse:
        """The row's page with the form as it was filled in and why nothing was done."""
        reasons = [str(reason) for reason in refused.form.non_field_errors()]
        messages.error(request, " ".join([str(_("Nothing was done.")), *reasons]))
        refused.form.refresh()
        # To Django's view a POST would be an edit of the row.
        as_get = copy.copy(request)
        as_get.method = "GET"
        return self.change_view(as_get, str(obj.pk), extra_context={"refused": refused})
