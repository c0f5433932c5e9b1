"""The list of proposals that wait for a second person."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from backoffice.actions import Act, EachAction
from backoffice.case.acts import APPROVAL_FRESH_SECONDS
from backoffice.lists.cells import user_link
from backoffice.lists.pages import ReadOnlyAdmin
from backoffice.lists.waiting_time import age_cell
from backoffice.users.history_admin import reason_and_note
from backoffice.users.user_lists import HEAD, head_context
from users.decisions import compliance, proposals
from users.models import Proposal, Status

MAX_APPROVED = 50


@admin.register(Proposal)
class ProposalAdmin(ReadOnlyAdmin):
    """The open proposals, longest waiting first; the name leads to the case, where they are approved or declined."""

    list_title = _("For a second person")
    list_display = ("waiting", "of_user", "move", "proposer", "reason_and_note")
    list_display_links = None
    list_select_related = ("by", "user__partner")
    list_before_template = HEAD
    # The order of the index proposal_open.
    ordering = ("created_at", "id")
    order_note = _("longest first")
    actions = ("approve_selected",)
    empty_title = _("Nothing waits for a second person")
    empty_text = _("A proposal appears here where a decision takes two people.")

    def get_urls(self) -> list[URLPattern]:
        """The list alone: a row's page is the case."""
        return [path("", self.admin_site.admin_view(self.changelist_view), name="users_proposal_changelist")]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        context: dict[str, Any] = {"title": self.list_title}
        if request.method == "GET" and self.has_view_permission(request):
            context |= head_context(request)
        return super().changelist_view(request, context | (extra_context or {}))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return proposals.waiting()

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(compliance.PERMISSION)

    @admin.display(description=_("waiting"))
    def waiting(self, proposal: Proposal) -> str:
        return age_cell(proposal.created_at)

    @admin.display(description=_("user"))
    def of_user(self, proposal: Proposal) -> str:
        return user_link(proposal.user)

    @admin.display(description=_("proposal"))
    def move(self, proposal: Proposal) -> str:
        return f"{Status(proposal.from_status).label} → {Status(proposal.to_status).label}"

    @admin.display(description=_("proposed by"))
    def proposer(self, proposal: Proposal) -> str:
        return proposal.by.get_username()

    @admin.display(description=_("reason and note"))
    def reason_and_note(self, proposal: Proposal) -> str:
        return reason_and_note(proposal)

    def selected(self, request: HttpRequest) -> list[Proposal]:
        """The selected proposals, longest waiting first."""
        chosen = Proposal.objects.filter(pk__in=request.POST.getlist(ACTION_CHECKBOX_NAME)[:MAX_APPROVED])
        return list(chosen.select_related("user").order_by("created_at", "id"))

    @EachAction(
        title=_("Approve"),
        permission="decide",
        fresh_seconds=APPROVAL_FRESH_SECONDS,
        done=lambda count: (
            ngettext("%(count)s proposal is approved.", "%(count)s proposals are approved.", count) % {"count": count}
        ),
    )
    def approve_selected(self, act: Act) -> None:
        """Approve each selected proposal by the checks of a single one."""
        proposals.approve_opened(act.row, **act.made_by)
