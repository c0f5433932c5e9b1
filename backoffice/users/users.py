"""The list of all users."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import RelatedDropdownFilter
from unfold.decorators import action

from backoffice.exports.evidence_packs import MAX_USERS
from backoffice.users.case_actions import STATUS_ORDER, CaseActionsAdmin
from backoffice.users.user_filters import CountryFilter, ModeFilter, RiskFlagsFilter, StatusFilter
from partners.models import Mode
from users.cases.search import find_identified
from users.models import User
from users.records.erasures import erased_text


class IdentifiersForm(forms.Form):
    """Identifiers, `users` whom they find, and those that are `missing`, with the text of who is erased."""

    identifiers = forms.CharField(
        label=_("Identifiers"),
        widget=forms.Textarea({"rows": 12, "spellcheck": "false"}),
        help_text=_("External IDs and user IDs, a line each."),
    )
    mode = forms.ChoiceField(label=_("Mode"), choices=Mode.choices)

    def clean(self) -> dict[str, Any]:
        """Find the users, as many as an evidence pack takes."""
        cleaned = super().clean() or {}
        lines = [line.strip() for line in cleaned.get("identifiers", "").splitlines()]
        identifiers = [*dict.fromkeys(filter(None, lines))]
        if len(identifiers) > MAX_USERS:
            text = gettext("At most %(most)s at a time: these are %(count)s.")
            self.add_error("identifiers", text % {"most": MAX_USERS, "count": len(identifiers)})
        elif identifiers and "mode" in cleaned:
            self.users, missing = find_identified(identifiers, cleaned["mode"], MAX_USERS)
            self.missing = {one: erased_text(erased) if erased else "" for one, erased in missing.items()}
            if len(self.users) > MAX_USERS:
                text = gettext("They are of more than %(most)s users: paste fewer.")
                self.add_error("identifiers", text % {"most": MAX_USERS})
        return cleaned


@admin.register(User)
class UserAdmin(CaseActionsAdmin):
    """Users of every status."""

    list_display = ("user", "status_badge", "waiting", "created_at")
    list_filter = (
        ("status", StatusFilter),
        RiskFlagsFilter,
        ("partner", RelatedDropdownFilter),
        CountryFilter,
        ModeFilter,
    )
    list_select_related = ("partner",)
    list_before_template = "admin/users/user/statuses.html"
    actions_list = ("identified",)
    # The order of the index user_by_status.
    ordering = ("status", *STATUS_ORDER)
    order_note = _("by status, in each the longest first")

    def index_orders(self, request: HttpRequest) -> Mapping[str, tuple[str, ...]]:
        """By status, and by the time in it; among users of one status also by that order."""
        columns = ("status_badge", "waiting") if request.GET.get("status__exact") else ("status_badge",)
        return dict.fromkeys(columns, self.ordering)

    @action(description=_("Paste identifiers …"), permissions=["view"], icon="content_paste")  # type: ignore[untyped-decorator]
    def identified(self, request: HttpRequest) -> HttpResponse:
        """The users of pasted identifiers, by a POST: an externalId may be an e-mail address, which no URL has."""
        form = IdentifiersForm(request.POST if request.method == "POST" else None)
        form.is_valid()
        context = {"title": _("Users by identifiers"), "opts": self.opts, "form": form, "most": MAX_USERS}
        return TemplateResponse(
            request, "admin/users/user/identified.html", self.admin_site.each_context(request) | context
        )

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """Lead to the case, a user's only page. Raises PermissionDenied and Http404."""
        if request.method == "POST" or not self.has_view_permission(request):
            raise PermissionDenied
        try:
            return redirect("backoffice_case", UUID(object_id))
        except ValueError:
            raise Http404 from None
