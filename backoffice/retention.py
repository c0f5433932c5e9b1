"""The page *Records*: who is due for erasure, what is proposed and approved, and what was destroyed.

docs/operations.md, "Records".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.apps import apps
from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import BadRequest
from django.db.models import Count, F, Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from backoffice.access import record_access, staff_of
from backoffice.actions import Act, Action
from backoffice.case.acts import APPROVAL_FRESH_SECONDS
from backoffice.exports import downloads
from backoffice.exports.views import ExportAction
from staff.models import Staff
from users import retention
from users.decisions.approval_rules import pair_of
from users.models import AccessKind, Erasure, ErasureProposal, FileKind, Hold, ProposalState, ProposedErasure, User
from users.models.approvals import NOTE_LENGTH
from users.models.retention import KEEP_RECORDS

# A quarter.
DAYS_AHEAD = 92
# Rows of each list.
MAX_SHOWN = 200


class ReasonForm(forms.Form):
    """Why the erasure is proposed, or declined."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=NOTE_LENGTH,
        widget=forms.Textarea(attrs={"rows": 2, "class": "bo-input"}),
    )


@require_safe
@permission_required(retention.PERMISSION, raise_exception=True)
def overview(request: HttpRequest) -> HttpResponse:
    """Show who is due now and within a quarter, proposed erasures, and what was destroyed."""
    return _page(Act(request, staff_of(request)))


@dataclass(frozen=True, kw_only=True)
class RecordsAction(Action):
    """On the records that are due, or on a proposed erasure (`act.row`, its id): the page Records shows the form."""

    permissions: tuple[str, ...] = (retention.PERMISSION,)

    def find(self, **kwargs: Any) -> Any:
        return kwargs.get("erasure_id")

    def get(self, act: Act) -> HttpResponse:
        """Go to the page, such as after a login."""
        return redirect("backoffice_records")

    def show(self, act: Act) -> HttpResponse:
        return _page(act)

    def succeed(self, act: Act, done: Any) -> HttpResponse:
        messages.success(act.request, done)
        return redirect("backoffice_records")


@RecordsAction(form_class=ReasonForm)
def propose(act: Act) -> str:
    """Propose the erasure of those chosen, or of all who are due now."""
    sent = act.request.POST
    try:
        chosen = {UUID(one) for one in sent.getlist("user")} if sent.get("which") == "chosen" else None
        count = int(sent.get("count", "0")) if chosen is None else None
    except ValueError:
        raise BadRequest from None
    made = retention.propose_erasure(
        reason=act.form.cleaned_data["reason"], user_ids=chosen, count=count, **act.made_by
    )
    return _("The erasure of %(users)s users waits for a second person.") % {"users": made.users}


@RecordsAction(fresh_seconds=APPROVAL_FRESH_SECONDS)
def approve(act: Act) -> str:
    """Approve an erasure that another person proposed."""
    retention.approve_erasure(proposal_id=act.row, **act.made_by)
    return _("The erasure is approved: erase_due carries it out.")


@RecordsAction(form_class=ReasonForm, form_options=lambda act: {"auto_id": f"id_{act.row}_%s"})
def decline(act: Act) -> str:
    """Decline a proposed erasure."""
    retention.decline_erasure(proposal_id=act.row, reason=act.form.cleaned_data["reason"], **act.made_by)
    return _("The erasure is declined.")


@ExportAction(permissions=(retention.PERMISSION,), back="backoffice_records")
def due_list(act: Act) -> HttpResponseBase:
    """Send who is due now and within a quarter, as CSV."""
    record_access(act.request, AccessKind.EXPORTED, detail="CSV of records due for erasure")
    headings = ("dueAt", "userId", "partner", "externalId", "name", "status", "since", "heldBy", "inErasure")
    due = retention.due_users(within_days=DAYS_AHEAD)
    return downloads.send_csv(act.request, "due", headings, map(_cells, _rows(due)))


def _cells(row: Mapping[str, Any]) -> tuple[Any, ...]:
    user: Any = row["user"]
    return (
        *(user.due_at, user.pk, user.partner.slug, user.external_id, user.full_name, user.status, user.status_since),
        *(", ".join(row["held_by"]), user.in_erasure),
    )


def _page(act: Act) -> HttpResponse:
    """Render the page, with the form that was sent and why it was refused."""
    found, now = retention.due_users(within_days=DAYS_AHEAD), timezone.now()
    is_due, is_free = Q(due_at__lte=now), Q(held=False, in_erasure=False)
    counts = found.aggregate(
        all_found=Count("pk"),
        due=Count("pk", filter=is_due),
        of_them_held=Count("pk", filter=is_due & Q(held=True)),
        free=Count("pk", filter=is_due & is_free),
    )
    sent = act.form if isinstance(act.form, ReasonForm) else None
    context = {
        **admin.site.each_context(act.request),
        "title": _("Records"),
        **counts,
        "rows": [*_rows(found[:MAX_SHOWN])],
        "more": max(0, counts["all_found"] - MAX_SHOWN),
        "now": now,
        "proposals": _proposals(act.staff, {act.row: sent} if act.row and sent else {}),
        "erased": _erased(),
        "propose_form": ReasonForm() if act.row or not sent else sent,
        "refusal": act.refusal,
    }
    return render(act.request, "backoffice/retention/overview.html", context, status=act.status)


def _rows(due: QuerySet[Any]) -> Iterator[dict[str, Any]]:
    """Each user with who holds the records."""
    holders = retention.in_force(Hold.objects.select_related("by"))
    users = due.prefetch_related(Prefetch("holds", holders, to_attr="holds_in_force"))
    for one in users:
        names = sorted({hold.by.username for hold in one.holds_in_force})
        yield {"user": one, "held_by": names or [FileKind.PERSON_REQUEST.label] * one.held}


def _proposals(reader: Staff, declined: Mapping[UUID, ReasonForm]) -> list[dict[str, Any]]:
    """The latest, each with its state; of one that is open, its users and what the reader may do.

    declined: a refused form to show again, by the proposal's id.
    """
    found = ErasureProposal.objects.with_states().select_related("by", "ended_by", "partner")
    return [
        {
            "proposal": one,
            "state": ProposalState(one.present_state),
            "users": _users_of(one) if one.is_open else [],
            "blocking_reason": pair_of(one.by, reader, permission=KEEP_RECORDS)[0] if one.is_open else "",
            "decline": declined.get(one.pk) or ReasonForm(auto_id=f"id_{one.pk}_%s"),
        }
        for one in found.order_by("-created_at", "-id")[:MAX_SHOWN]
    ]


def _users_of(proposal: ErasureProposal) -> list[User]:
    rows = ProposedErasure.objects.filter(proposal=proposal).select_related("user__partner").order_by("id")
    return [row.user for row in rows[:MAX_SHOWN]]


def _erased() -> list[dict[str, Any]]:
    """What was destroyed, the latest first."""
    names = {model._meta.db_table: model._meta.verbose_name_plural for model in apps.get_models()}  # noqa: SLF001
    found = Erasure.objects.select_related("partner", "proposed_by", "approved_by", "proposal")
    return [
        {"erasure": one, "rows": [(names.get(table, table), count) for table, count in sorted(one.rows.items())]}
        for one in found.order_by(F("erased_at").desc(), "user_id")[:MAX_SHOWN]
    ]
