"""The page *Records*: who is due for erasure, what is proposed and approved, and what was destroyed.

docs/operations.md, "Records".
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.apps import apps
from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import BadRequest
from django.db.models import F
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from backoffice.access import record_access, request_id_of, staff_of
from backoffice.case.views import APPROVAL_FRESH_SECONDS
from backoffice.exports import downloads
from backoffice.exports.spreadsheets import CONTENT_TYPE, CUT_OFF, csv_file
from core.refusals import RefusedError
from staff.login.reauthentication import require_fresh_factor
from staff.models import Staff
from users.models import AccessKind, Erasure, ErasureProposal, ErasureState, Hold, ProposedErasure, Status, User
from users.models.erasing import ERASURE_REASON_LENGTH
from users.records import erasures, holds
from users.records.retention import DueUser, due_users, first_due_users

# A quarter.
DAYS_AHEAD = 92
# Rows of each list.
MAX_SHOWN = 200
_permitted = permission_required(holds.PERMISSION, raise_exception=True)


class ReasonForm(forms.Form):
    """Why the erasure is proposed, or declined."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=ERASURE_REASON_LENGTH,
        widget=forms.Textarea(attrs={"rows": 2, "class": "bo-input"}),
    )


@require_safe
@_permitted
def records(request: HttpRequest) -> HttpResponse:
    """Show who is due now and within a quarter, proposed erasures, and what was destroyed."""
    return _page(request)


@_permitted
def propose(request: HttpRequest) -> HttpResponseBase:
    """Propose the erasure of those chosen, or of all who are due now."""
    form = ReasonForm(request.POST)
    try:
        chosen = {UUID(one) for one in request.POST.getlist("user")} if request.POST.get("which") == "chosen" else None
        count = int(request.POST.get("count", "0")) if chosen is None else None
    except ValueError:
        raise BadRequest from None

    def act(by: Staff, source: str) -> str:
        made = erasures.propose(by=by, reason=form.cleaned_data["reason"], user_ids=chosen, count=count, source=source)
        return _("The erasure of %(users)s users waits for a second person.") % {"users": made.users}

    return _act(request, act, form, sent={"propose_form": form})


@_permitted
def approve(request: HttpRequest, erasure_id: UUID) -> HttpResponseBase:
    """Approve an erasure that another person proposed, after a fresh second factor."""
    if request.method == "POST" and (asked := require_fresh_factor(request, within=APPROVAL_FRESH_SECONDS)):
        return asked

    def act(by: Staff, source: str) -> str:
        erasures.approve(proposal_id=erasure_id, by=by, source=source)
        return _("The erasure is approved: erase_due carries it out.")

    return _act(request, act)


@_permitted
def decline(request: HttpRequest, erasure_id: UUID) -> HttpResponseBase:
    """Decline a proposed erasure."""
    form = ReasonForm(request.POST, auto_id=f"id_{erasure_id}_%s")

    def act(by: Staff, source: str) -> str:
        erasures.decline(proposal_id=erasure_id, by=by, reason=form.cleaned_data["reason"], source=source)
        return _("The erasure is declined.")

    return _act(request, act, form, sent={"decline_form": form, "declined": erasure_id})


@_permitted
def due_list(request: HttpRequest) -> HttpResponseBase:
    """Send who is due now and within a quarter, as CSV. A GET, such as after a login, leads to the page."""
    if request.method != "POST":
        return redirect("backoffice_records")
    if (asked := require_fresh_factor(request, download_back=reverse("backoffice_records"))) is not None:
        return asked
    record_access(request, AccessKind.EXPORTED, detail="CSV of records due for erasure")
    headings = ("dueAt", "userId", "partner", "externalId", "name", "status", "since", "heldBy", "inErasure")

    def lines() -> Iterator[str]:
        return csv_file(headings, (_cells(row) for row in _rows(due_users(within_days=DAYS_AHEAD))))

    return downloads.download(
        request,
        lambda: downloads.in_chunks(lines()),
        name=f"due-{timezone.now():%Y%m%d-%H%M%S}.csv",
        content_type=CONTENT_TYPE,
        cut_off=CUT_OFF,
    )


def _cells(row: Mapping[str, Any]) -> tuple[Any, ...]:
    user: User = row["user"]
    due: DueUser = row["due"]
    return (
        *(due.due_at, due.user_id, due.partner, due.external_id, user.full_name, user.status, user.status_since),
        *(", ".join(row["held_by"]), due.in_erasure),
    )


def _act(
    request: HttpRequest,
    act: Callable[[Staff, str], str],
    form: ReasonForm | None = None,
    sent: Mapping[str, Any] | None = None,
) -> HttpResponseBase:
    """Do it and say so, or show the page with what was sent and why nothing was done."""
    if request.method != "POST":
        return redirect("backoffice_records")
    if form is not None and not form.is_valid():
        return _page(request, status=422, **(sent or {}))
    try:
        done = act(staff_of(request), f"request {request_id_of(request)}")
    except ErasureProposal.DoesNotExist:
        raise Http404 from None
    except RefusedError as refusal:
        return _page(request, status=409, refusal=refusal, **(sent or {}))
    messages.success(request, done)
    return redirect("backoffice_records")


def _page(request: HttpRequest, *, status: int = 200, **sent: Any) -> HttpResponse:
    """Render the page. sent: the form that was sent, to show it again, and why it was refused."""
    found = first_due_users(MAX_SHOWN, within_days=DAYS_AHEAD)
    context = {
        **admin.site.each_context(request),
        "title": _("Records"),
        **found._asdict(),
        "rows": _rows(found.users),
        "more": found.total - len(found.users),
        "now": timezone.now(),
        "proposals": _proposals(staff_of(request), sent),
        "erased": _erased(),
        "propose_form": ReasonForm(),
        **sent,
    }
    return render(request, "backoffice/records/records.html", context, status=status)


def _rows(due: Sequence[DueUser]) -> list[dict[str, Any]]:
    """Each with the user, and who holds the records."""
    ids = [one.user_id for one in due]
    users = User.objects.select_related("partner").in_bulk(ids)
    held: dict[UUID, list[str]] = {}
    for user_id, by in holds.in_force(Hold.objects.filter(user__in=ids)).values_list("user", "by__username"):
        held.setdefault(user_id, []).append(by)
    return [
        {
            "due": one,
            "user": users[one.user_id],
            "status": Status(users[one.user_id].status).label,
            "held_by": sorted(set(held.get(one.user_id, []))),
        }
        for one in due
        if one.user_id in users
    ]


def _proposals(reader: Staff, sent: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The latest, each with its state; of one that is open, its users and what the reader may do."""
    found = ErasureProposal.objects.with_states().select_related("by", "ended_by", "partner")
    return [
        {
            "proposal": one,
            "state": ErasureState(one.present_state),
            "is_open": (is_open := one.present_state == ErasureState.OPEN),
            "users": _users_of(one) if is_open else [],
            "blocking_reason": erasures.blocking_reason(one, reader) if is_open else "",
            "decline": sent["decline_form"]
            if sent.get("declined") == one.pk
            else ReasonForm(auto_id=f"id_{one.pk}_%s"),
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
