"""The columns and actions that the lists of users share: claim and release the selected, and their evidence packs."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from backoffice.access import request_id_of
from backoffice.actions import Act, EachAction
from backoffice.exports.views import packs_page
from backoffice.lists.cells import badge, icon_and_text, moment, user_link
from backoffice.lists.pages import ReadOnlyAdmin
from backoffice.lists.waiting_time import AgeState, age_of
from backoffice.users.user_filters import mode_of, sees_identity, warn_of_cut
from users.cases import claims, search
from users.decisions.risk_flags import RISK_FLAGS, Weight, visible_flags
from users.models import Status, User
from users.records.erasures import erased_text

_STATUS_KINDS = {
    Status.PENDING_COMPLIANCE: "off",
    Status.ACTIVE: "good",
    Status.REJECTED: "bad",
    Status.SUSPENDED: "warning",
    Status.CLOSED: "bad",
}
_AGE_KINDS = {
    AgeState.IN_TIME: ("good", "check_circle"),
    AgeState.DUE_SOON: ("warning", "schedule"),
    AgeState.LATE: ("bad", "error"),
}
_WEIGHT_KINDS = {Weight.GRAVE: "bad", Weight.ORDINARY: "warning", Weight.HARMLESS: "off"}


# The order of the index user_waiting, of users of one status.
QUEUE_ORDER = ("waiting_since", "id")
# The order of the index user_by_status, likewise; those who wait for nobody have it too.
STATUS_ORDER = ("status_since", "id")


MAX_SELECTED = 100


class CaseActionsAdmin(ReadOnlyAdmin):
    """A list of users with actions for who may claim and export; the name leads to the case."""

    list_display_links = None
    actions: tuple[str, ...] = ("claim_selected", "release_selected", "export_selected")
    search_fields = ("id", "external_id", "email", "first_name", "last_name")
    search_help_text = gettext_lazy("Name, email or its domain, external ID, user ID or birth date")
    # An action is bounded, and on rows that the person has seen.
    list_disable_select_all = True

    @admin.display(description=gettext_lazy("user"))
    def user(self, user: User) -> str:
        return user_link(user)

    @admin.display(description=gettext_lazy("status"), ordering="status")
    def status_badge(self, user: User) -> str:
        return badge(user.get_status_display(), _STATUS_KINDS[Status(user.status)])

    @admin.display(description=gettext_lazy("waiting"), ordering="status_since")
    def waiting(self, user: User) -> str:
        """How long a case has waited for a decision, and whether that is too long; whether the partner has answered."""
        if user.status != Status.PENDING_COMPLIANCE:
            return "–"
        if user.waiting_since is None:
            return badge(_("Waiting for the partner"), "off")
        return answered_mark(user) + age_cell(user.waiting_since)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """The users that match, and a warning where they are too many to examine."""
        if not (term := search_term.strip()):
            return queryset, False
        mode, sees = mode_of(request), sees_identity(request)
        if search.is_cut(term, mode, sees_identity=sees):
            warn_of_cut(request, search.MAX_PREFIX_MATCHES)
        for erased in search.find_erased(term):
            messages.info(request, f"{erased.pk}: {erased_text(erased)}")
        return queryset.filter(search.matches(term, mode, sees_identity=sees)), False

    def has_claim_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(claims.PERMISSION)

    @EachAction(
        title=gettext_lazy("Claim"),
        permission="claim",
        done=lambda count: ngettext("%(count)s case is yours.", "%(count)s cases are yours.", count) % {"count": count},
    )
    def claim_selected(self, act: Act) -> None:
        """Claim each selected case that is free."""
        claims.claim(user=act.row, staff=act.staff, request_id=request_id_of(act.request))

    @EachAction(
        title=gettext_lazy("Release"),
        permission="claim",
        done=lambda count: ngettext("%(count)s case is free.", "%(count)s cases are free.", count) % {"count": count},
    )
    def release_selected(self, act: Act) -> None:
        """Release each selected case that the person may release."""
        claims.release(user=act.row, staff=act.staff, request_id=request_id_of(act.request))

    def has_export_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("users.export_user")

    @admin.action(description=gettext_lazy("Evidence packs …"), permissions=["export"])
    def export_selected(self, request: HttpRequest, _queryset: QuerySet[User]) -> HttpResponse | None:
        """Show of which users the packs will be."""
        users = self.selected(request)
        return (
            packs_page(request, users, _("Chosen from a list"), back=request.get_full_path(), is_chosen=True)
            if users
            else None
        )

    def selected(self, request: HttpRequest) -> list[User]:
        """The selected users; none, and a message, where they are more than an action takes.

        They include those whom a colleague has decided since the list was loaded: Django's queryset has waiting cases
        alone, and the rules say what became of the others.
        """
        chosen = User.objects.filter(pk__in=request.POST.getlist(ACTION_CHECKBOX_NAME))
        users = list(chosen.select_related("partner").order_by(*QUEUE_ORDER)[: MAX_SELECTED + 1])
        if len(users) <= MAX_SELECTED:
            return users
        number = len(request.POST.getlist(ACTION_CHECKBOX_NAME))
        text = _("At most %(most)s at a time: %(chosen)s are chosen.")
        messages.error(request, text % {"most": MAX_SELECTED, "chosen": number})
        return []


def answered_mark(user: User) -> SafeString:
    """The mark of a user whose partner has answered; empty for others."""
    if not user.is_answered:
        return SafeString()
    mark = badge(icon_and_text("mark_email_read", _("Answered")), "good")
    return format_html('<div class="bo-answered">{}</div>', mark)


def age_cell(since: datetime, *, is_due: bool = True) -> str:
    """An age and its beginning. is_due: whether it is compared with the target."""
    age = age_of(since, now=timezone.now())
    kind, icon = _AGE_KINDS[age.state]
    state = badge(icon_and_text(icon, age.state.label), kind) if is_due else ""
    cell = '<div class="bo-age">{} <strong>{}</strong> <span>{}</span></div>'
    return format_html(cell, state, age.text, moment(since))


def display_flags(codes: Sequence[str]) -> str:
    """The risk flags by name, below their weight in a word and a colour; empty without any."""
    rows = [
        (
            badge(icon_and_text("flag", weight.label), _WEIGHT_KINDS[weight]),
            "; ".join(str(kind.title) for kind in kinds),
        )
        for weight, kinds in groupby((RISK_FLAGS[code] for code in codes), lambda kind: kind.weight)
    ]
    return format_html('<div class="bo-flags">{}</div>', format_html_join("", "<p>{} {}</p>", rows)) if rows else ""


def flag_legend(*, sees_identity: bool) -> list[tuple[str, str, Any]]:
    """What the risk flags that a reader sees mean: the badge of the weight, the name, and the meaning."""
    return [
        (badge(kind.weight.label, _WEIGHT_KINDS[kind.weight]), str(kind.title), kind.meaning)
        for kind in visible_flags(sees_identity=sees_identity)
    ]
