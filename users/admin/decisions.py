"""Deciding in the admin of users: the actions of the list, and on a user's page the forms of the case page.

No rule is here: claims, bulk approval and decisions are those of users/backoffice.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.decorators import action
from unfold.enums import ActionVariant

from partners.admin.sections import SectionedAdmin
from users.backoffice.case.page import header_context
from users.backoffice.case.views import USER_PAGE
from users.backoffice.queue import approval
from users.models import Staff, User
from users.services import bulk_approval, claims, compliance


class DecidingAdmin(SectionedAdmin):
    """Actions on chosen users, a button to the case, and the decisions that the person may make about a user."""

    actions = ("claim_selected", "release_selected", "approve_selected")
    actions_detail = ("open_case",)
    # What an action takes is bounded, and was seen by the person who chose it.
    list_disable_select_all = True
    change_form_template = "admin/users/user/change_form.html"

    def has_decide_permission(self, request: HttpRequest) -> bool:
        """Whether the person may decide; of the actions."""
        return request.user.has_perm(compliance.PERMISSION)

    def has_claim_permission(self, request: HttpRequest) -> bool:
        """Whether the person may claim; of the actions."""
        return request.user.has_perm(claims.PERMISSION)

    @admin.action(description=gettext_lazy("Claim"), permissions=["claim"])
    def claim_selected(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Claims each of the chosen cases that is free."""
        if done := self._each(request, queryset, claims.claim):
            said = ngettext("%(count)s case is yours.", "%(count)s cases are yours.", done) % {"count": done}
            messages.success(request, said)

    @admin.action(description=gettext_lazy("Release"), permissions=["claim"])
    def release_selected(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Gives each of the chosen cases back that the person may give back."""
        if done := self._each(request, queryset, claims.release):
            said = ngettext("%(count)s case is free.", "%(count)s cases are free.", done) % {"count": done}
            messages.success(request, said)

    @admin.action(description=gettext_lazy("Approve …"), permissions=["decide"])
    def approve_selected(self, request: HttpRequest, queryset: QuerySet[User]) -> HttpResponse | None:
        """Asks for the reason, and then approves as the queue does. See Django's admin actions, intermediate pages."""
        if "confirmed" in request.POST:
            form = approval.approval_form(request.POST)
            if form.is_valid():
                return approval.approve(
                    request, form, by=_staff(request), back=request.get_full_path(), back_title=_("Back to the list")
                )
        else:
            form = approval.approval_form()
        users = self._chosen(request, queryset)
        if not users:
            return None
        context = self.admin_site.each_context(request) | approval.context_of(request, users, form)
        return TemplateResponse(request, "backoffice/approve_selected.html", context)

    @action(  # type: ignore[untyped-decorator]
        description=gettext_lazy("Open the case"),
        permissions=["view"],
        url_path="case",
        icon="assignment_ind",
        variant=ActionVariant.PRIMARY,
    )
    def open_case(self, _request: HttpRequest, object_id: str) -> HttpResponse:
        """To the case page. Raises Http404."""
        try:
            return redirect("backoffice_case", UUID(object_id))
        except ValueError:
            raise Http404 from None

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        """Django's page, with what the case page has at its head. The window's title has nothing personal."""
        if (obj := kwargs.get("obj")) is not None:
            context |= header_context(obj, _staff(request)) | {
                "title": _("User %(id)s") % {"id": str(obj.pk)[:8]},
                "subtitle": None,
                "page_name": f"{obj.first_name} {obj.last_name}",
                # Where a decision comes back to.
                "decided_on": USER_PAGE,
                "links_to_case": True,
            }
        return super().render_change_form(request, context, **kwargs)

    def _each(self, request: HttpRequest, queryset: QuerySet[User], press: Callable[..., object]) -> int:
        """Claims or releases each of the chosen cases, and says which were refused and why; how many were not."""
        users, refusals = self._chosen(request, queryset), defaultdict[str, list[str]](list)
        for user in users:
            try:
                press(user=user, staff=_staff(request), request_id=str(getattr(request, "request_id", "")))
            except claims.ClaimRefusedError as refusal:
                refusals[str(refusal)].append(user.external_id)
        for why, names in refusals.items():
            messages.error(request, f"{', '.join(names)}: {why}")
        return len(users) - sum(map(len, refusals.values()))

    def _chosen(self, request: HttpRequest, queryset: QuerySet[User]) -> list[User]:
        """The chosen users; none, and a message, where they are more than one action takes."""
        users = list(queryset.select_related("partner")[: bulk_approval.AT_MOST + 1])
        if len(users) <= bulk_approval.AT_MOST:
            return users
        messages.error(request, _("At most %(most)s at a time.") % {"most": bulk_approval.AT_MOST})
        return []


def _staff(request: HttpRequest) -> Staff:
    assert isinstance(request.user, Staff)  # noqa: S101 - pages of the admin are for staff alone
    return request.user
