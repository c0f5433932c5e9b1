"""The page *Records* of erasures, and the holds of a user (docs/operations.md, "Records")."""

from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import UUID

from django.apps import apps
from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import BadRequest
from django.db.models import F, Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from backoffice.access import VIEW_CASES, record_access, staff_of
from backoffice.actions import Act, Action, say_taken
from backoffice.case.acts import APPROVAL_FRESH_SECONDS
from backoffice.case.forms import NoteForm
from backoffice.exports import downloads
from backoffice.exports.views import ExportAction
from users import retention
from users.decisions.proposals import pair_of
from users.models import AccessKind, Erasure, ErasureProposal, FileKind, Hold, ProposalState, ProposedErasure
from users.models.approvals import REASON_LENGTH
from users.models.retention import KEEP_RECORDS

# A quarter.
DAYS_AHEAD = 92
# Rows of each list, and due users that are counted.
MAX_SHOWN, MAX_COUNTED = 200, 10_000
_ReasonForm = partial(NoteForm, label=gettext_lazy("Reason"))
_HoldForm = partial(_ReasonForm, max_length=REASON_LENGTH)


@require_safe
@permission_required(retention.PERMISSION, raise_exception=True)
def overview(request: HttpRequest) -> HttpResponse:
    """Show who is due now and within a quarter, proposed erasures, and what was destroyed."""
    return _page(Act(request, staff_of(request)))


def _page(act: Act) -> HttpResponse:
    """Render the page, with the form that was sent and why it was refused."""
    found, now = retention.due_users(within_days=DAYS_AHEAD), timezone.now()
    # In the order of an index, as all may be a million.
    first = found.order_by("status_since", "pk").values_list("due_at", "pk", "held", "in_erasure", named=True)
    counted = sorted(first[: MAX_COUNTED + 1])
    more = "+" if len(counted) > MAX_COUNTED else ""
    del counted[MAX_COUNTED:]
    due = [one for one in counted if one.due_at <= now]
    names = {model._meta.db_table: model._meta.verbose_name_plural for model in apps.get_models()}  # noqa: SLF001
    erased = Erasure.objects.select_related("partner", "proposed_by", "approved_by", "proposal")
    context = {
        **admin.site.each_context(act.request),
        "title": _("Records"),
        "due": intcomma(len(due)) + more,
        "of_them_held": intcomma(sum(one.held for one in due)) + more,
        "free": sum(not (one.held or one.in_erasure) for one in due),
        "more": more,
        "all_found": intcomma(len(counted)) + more if len(counted) > MAX_SHOWN else "",
        "rows": [*_rows(found.filter(pk__in=[one.pk for one in counted[:MAX_SHOWN]]))],
        "now": now,
        "proposals": _proposals(act),
        "erased": [
            (one, [(names.get(table, table), count) for table, count in sorted(one.rows.items())])
            for one in erased.order_by(F("erased_at").desc(), "user_id")[:MAX_SHOWN]
        ],
        "propose_form": _ReasonForm(name="propose") if act.row or not act.form else act.form,
        "refusal": act.refusal,
    }
    return render(act.request, "backoffice/retention/overview.html", context, status=act.status)


# On the records that are due, or on a proposed erasure: `row` is its id.
_RecordsAction = partial(
    Action, permissions=(retention.PERMISSION,), page=_page, home=lambda _act: redirect("backoffice_records")
)
_ReasonedAction = partial(
    _RecordsAction, form_class=_ReasonForm, form_options=lambda act: {"name": act.row or "propose"}
)


@_ReasonedAction()
def propose(act: Act) -> str:
    """Propose the erasure of those chosen, or of all who are due now."""
    sent = act.request.POST
    try:
        chosen = {UUID(one) for one in sent.getlist("user")} if sent.get("which") == "chosen" else None
        count = int(sent.get("count", "0")) if chosen is None else None
    except ValueError:
        raise BadRequest from None
    made = retention.propose_erasure(reason=act.form.cleaned_data["note"], user_ids=chosen, count=count, **act.made_by)
    return _("The erasure of %(users)s users waits for a second person.") % {"users": made.users}


@_RecordsAction(fresh_seconds=APPROVAL_FRESH_SECONDS)
def approve(act: Act) -> str:
    """Approve an erasure that another person proposed."""
    retention.approve_erasure(proposal_id=act.row, **act.made_by)
    return _("The erasure is approved: erase_due carries it out.")


@_ReasonedAction()
def decline(act: Act) -> str:
    """Decline a proposed erasure."""
    retention.decline_erasure(proposal_id=act.row, reason=act.form.cleaned_data["note"], **act.made_by)
    return _("The erasure is declined.")


@ExportAction(permissions=(retention.PERMISSION,), back="backoffice_records")
def due_list(act: Act) -> HttpResponseBase:
    """Send who is due now and within a quarter, as CSV."""
    record_access(act.request, AccessKind.EXPORTED, detail="CSV of records due for erasure")
    headings = ("dueAt", "userId", "partner", "externalId", "name", "status", "since", "heldBy", "inErasure")
    cells = (
        (
            *(user.due_at, user.pk, user.partner.slug, user.external_id, user.full_name, user.status),
            *(user.status_since, ", ".join(held_by), user.in_erasure),
        )
        for user, held_by in _rows(retention.due_users(within_days=DAYS_AHEAD).order_by("status_since", "pk"))
    )
    return downloads.send_csv(act.request, "due", headings, cells)


def _rows(due: QuerySet[Any]) -> Iterator[tuple[Any, list[Any]]]:
    """Each user with who holds the records."""
    holders = Hold.objects.filter(release=None).select_related("by")
    for user in due.prefetch_related(Prefetch("holds", holders, to_attr="holds_in_force")).iterator(MAX_SHOWN):
        names = sorted({hold.by.username for hold in user.holds_in_force})
        yield user, names or [FileKind.PERSON_REQUEST.label] * user.held


def _proposals(act: Act) -> list[dict[str, Any]]:
    """The latest, each with its state and its form; of one that is open, its users and what the reader may do."""
    found = ErasureProposal.objects.with_states().select_related("by", "ended_by", "partner")
    rows = ProposedErasure.objects.select_related("user__partner").order_by("id")
    return [
        {
            "proposal": one,
            "state": ProposalState(one.present_state),
            "rows": rows.filter(proposal=one)[:MAX_SHOWN] if one.is_open else [],
            "blocking_reason": pair_of(one.by, act.staff, permission=KEEP_RECORDS)[0] if one.is_open else "",
            "decline": act.form if act.form and act.row == one.pk else _ReasonForm(name=one.pk),
        }
        for one in found.order_by("-created_at", "-id")[:MAX_SHOWN]
    ]


# Holds


def _holds_page(act: Act) -> HttpResponse:
    """The holds, each with the form of its release, and the form of another."""
    found = Hold.objects.filter(user=act.row).select_related("by", "release__by").order_by("-created_at", "id")
    sent = {act.form.name: act.form} if act.form else {}
    holds = [(one, sent.get(f"release-{one.pk}") or _HoldForm(name=f"release-{one.pk}")) for one in found]
    context = {
        **admin.site.each_context(act.request),
        "title": _("Holds of case %(id)s") % {"id": str(act.row.pk)[:8]},
        "case_user": act.row,
        "holds": holds,
        "is_held": any(not hasattr(one, "release") for one, _form in holds),
        "form": sent.get("hold") or _HoldForm(name="hold"),
        "refusal": act.refusal,
    }
    return render(act.request, "backoffice/retention/holds.html", context, status=act.status)


_HoldAction = partial(
    Action, permissions=(VIEW_CASES, retention.PERMISSION), form_class=_HoldForm, page=_holds_page, home=_holds_page
)


@_HoldAction(form_options=lambda _act: {"name": "hold"})
def place_hold(act: Act) -> HttpResponse:
    """Hold a user's records."""
    retention.place_hold(user=act.row, reason=act.form.cleaned_data["note"], **act.made_by)
    say_taken(act, _("The records of %(user)s are held.") % {"user": act.row.external_id})
    return redirect("backoffice_case", act.row.pk)


@_HoldAction(form_options=lambda act: {"name": f"release-{act.sent_row(act.row.holds, 'hold').pk}"})
def release_hold(act: Act) -> HttpResponse:
    """Release one of the holds."""
    hold = act.sent_row(act.row.holds, "hold")
    retention.release_hold(hold_id=hold.pk, reason=act.form.cleaned_data["note"], **act.made_by)
    say_taken(act, _("The hold is released."))
    return redirect("backoffice_hold", act.row.pk)
