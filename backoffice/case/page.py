"""The template context of the case page, from a bounded number of statements."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from backoffice.access import staff_of
from backoffice.case.file import file_of
from backoffice.case.forms import AddNoteForm, ApproveForm, DeclineForm, moves
from backoffice.case.requirements import TEMPLATES, AskForm, confirmation, preview, requirements_of
from backoffice.case.timeline import MAX_SHOWN, MORE, SHOWN, timeline
from backoffice.lists.pages import QUEUE, url_for
from backoffice.lists.waiting_time import age_state, format_duration
from staff.models import Staff
from users import requirements
from users.decisions import compliance, proposals
from users.decisions.decision_basis import Changes, FieldChange, Snapshot, differences, flag_in_words, snapshot_for
from users.decisions.proposals import moves_of_two, pair_of
from users.decisions.reasons import NOTES_PERMISSION, common_maker_note, label_of, note_of
from users.decisions.risk_flags import approval_needs_note
from users.models import Claim, Proposal, ProposalState, Status, User, UserEvent
from users.models.columns import GROUPS, IDENTITY_COLUMNS, IDENTITY_PERMISSION
from users.profile.labels import LABELS, display_birth_date, display_province, display_value

LISTED_ROWS = 5
_HIDDEN_WHERE_EMPTY = {"address_line2"}


def case_context(request: HttpRequest, user: User, *, refusal: object = None, **sent: Any) -> dict[str, Any]:
    """Return the page's context. refusal: why what was sent was refused; without one its dialog is open.

    sent: the form to show again, as `form` (of a decision), `note_form`, `approve`, `decline`, `close` or `ask`, which
    shows its second step with `is_confirmed`.
    """
    reader, now = staff_of(request), timezone.now()
    length = request.GET.get("timeline", "")
    is_number = length.isascii() and length.isdigit() and len(length) <= len(str(MAX_SHOWN))
    count = max(SHOWN, min(int(length), MAX_SHOWN)) if is_number else SHOWN
    claim = Claim.objects.select_related("staff").filter(pk=user.pk).first()
    is_claimed_by_other = claim is not None and claim.staff_id != reader.pk
    may_act = reader.has_perm(compliance.PERMISSION) and not is_claimed_by_other
    snapshot = snapshot_for(reader, user)
    asked = requirements_of(user, reader, close=sent.get("close"))
    seen = {
        change
        for one in asked
        for answer in one["responses"]
        for change in answer["fields"]
        if change.before != change.after
    }
    two_person_moves, is_proposed = moves_of_two(user)
    panel = panel_of(user, reader, snapshot, sent) if is_proposed else None
    present = moves(
        user,
        two_person_moves=two_person_moves,
        proposed=panel["proposal"].to_status if panel and panel["proposal"].is_open else "",
        needs_note=bool(approval_needs_note(snapshot.codes)),
        sent=sent.get("form"),
    )
    return {
        **admin.site.each_context(request),
        # Isolated: a name may have characters that turn the direction of its line.
        "title": _("%(name)s · Case %(id)s") % {"name": f"\u2068{user.full_name}\u2069", "id": str(user.pk)[:8]},
        "case_user": user,
        "name": user.full_name,
        "queue_url": url_for(QUEUE, user),
        "age_state": age_state(user.waiting_since) if user.waiting_since else None,
        "age": format_duration(now - user.waiting_since) if user.waiting_since else "",
        "is_overdue": user.requirements_due_at is not None and user.requirements_due_at < now,
        "refusal": refusal,
        "snapshot": snapshot,
        "other_flags": [flag for flag in snapshot.risk_flags if not flag.decision],
        "requirements": asked,
        # In the order of the page, so that each difference is shown once.
        "previous": [
            {
                "flag": flag,
                "reason": label_of(flag.decision.reason_code),
                "note": note_of(flag.decision) if reader.has_perm(NOTES_PERMISSION) else "",
                "shown": _once(changes, seen),
            }
            for flag, changes in snapshot.previous
            if flag.decision
        ],
        "changes": _once(snapshot.changes, seen),
        "seen": seen,
        "claim": claim,
        "is_claimed_by_other": is_claimed_by_other,
        "may_act": may_act,
        "may": compliance.permitted_actions(user=user, claim=claim, staff=reader),
        "moves": list(present) if may_act else [],
        "panel": panel,
        "version": snapshot.version,
        **_ask_context(request, user, sent, is_open="ask" in sent and refusal is None),
        "may_ask": may_act and requirements.may_be_asked(user),
        "groups": list(_groups(user, sees_identity=reader.has_perm(IDENTITY_PERMISSION))),
        # One row more than shown tells whether there are more.
        "conversions": user.conversions.order_by("-created_at", "-tiebreak")[: LISTED_ROWS + 1],
        "documents": user.documents.select_related("withdrawal").order_by("-created_at", "-tiebreak")[
            : LISTED_ROWS + 1
        ],
        "listed_rows": LISTED_ROWS,
        "file": file_of(user, reader),
        "note_form": sent.get("note_form") or AddNoteForm(),
        "timeline": timeline(user, reader, count=count),
        "longer_timeline": min(count + MORE, MAX_SHOWN) if count < MAX_SHOWN else None,
    }


def _once(changes: Changes | None, seen: set[FieldChange]) -> dict[str, Any] | None:
    """Changes since a decision: `fields` that were not seen, and are now; `elsewhere`, those that were."""
    if changes is None:
        return None
    fields = [change for change in changes.fields if change not in seen]
    elsewhere = [change for change in changes.fields if change in seen]
    seen.update(fields)
    return {"since": changes, "fields": fields, "elsewhere": elsewhere}


def _ask_context(request: HttpRequest, user: User, sent: Mapping[str, Any], *, is_open: bool) -> dict[str, Any]:
    """The dialog of what the partner is asked."""
    context: dict[str, Any] = {"ask": sent.get("ask") or AskForm(), "ask_is_open": is_open}
    context["ask_templates"] = json.dumps(
        {
            code: {"message": one.message, "meaning": one.meaning, "fields": one.fields}
            for code, one in TEMPLATES.items()
        }
    )
    if is_open:
        # The version that the person saw first, so that a change between the two steps is noticed.
        context["ask_version"] = request.POST.get("version", "")
    if sent.get("is_confirmed"):
        context["ask_preview"] = preview(sent["ask"])
        context["ask_confirmed"] = confirmation(sent["ask"], user=user, staff=staff_of(request))
    return context


def panel_of(user: User, reader: Staff, snapshot: Snapshot, sent: Mapping[str, Any]) -> dict[str, Any] | None:
    """The proposal that waits, or ended without anybody's act, if the reader may see it, and whether to approve it."""
    proposal = proposals.current(user) if reader.has_perm("users.view_proposal") else None
    if proposal is None:
        return None
    changes: list[FieldChange] = []
    if proposal.present_state == ProposalState.OVERTAKEN:
        then: Any = UserEvent.objects.filter(pgh_obj=user, updated_at=proposal.user_updated_at).first()
        changes = list(differences(then, user, sees_identity=reader.has_perm(IDENTITY_PERMISSION))) if then else []
    panel: dict[str, Any] = {
        "proposal": proposal,
        "move": f"{Status(proposal.from_status).label} → {Status(proposal.to_status).label}",
        "reason_label": label_of(proposal.reason_code),
        # Empty where the reason is the code's text alone.
        "note": note_of(proposal),
        # Of the profile since.
        "changes": changes,
        "approve": sent.get("approve") or ApproveForm(),
        "decline": sent.get("decline") or DeclineForm(),
    }
    if reader.has_perm(compliance.PERMISSION) and proposal.is_open:
        refusal, makers = pair_of(proposal.by, reader)
        panel |= {
            "blocking_reason": refusal or compliance.blocking_reason(user, proposal.to_status),
            "common_maker": common_maker_note(makers),
            "since": _since(proposal, snapshot),
        }
    return panel


def _since(proposal: Proposal, snapshot: Snapshot) -> dict[str, Any]:
    """What is new about an open proposal's user: risk flags that it was not based on, those that are gone, answers."""
    user, then = snapshot.user, (proposal.basis or {}).get("riskFlags", [])
    before = {flag["code"]: flag_in_words(flag)[0] for flag in then}
    now = {flag.code: flag.title for flag in snapshot.risk_flags}
    return {
        "flags": [title for code, title in now.items() if code not in before],
        "needs_note": proposal.to_status == Status.ACTIVE and approval_needs_note(snapshot.codes, proposal.basis),
        "gone": [title for code, title in before.items() if code not in now],
        "answered_at": user.answered_at if user.answered_at and user.answered_at > proposal.created_at else None,
        "notes": user.case_notes.filter(created_at__gt=proposal.created_at).count(),
    }


def _groups(user: User, *, sees_identity: bool) -> Iterator[dict[str, Any]]:
    born, province = display_birth_date(user.date_of_birth), display_province(user.country, user.province)
    shown = {"date_of_birth": born, "province": province}
    for title, columns in GROUPS:
        visible = [column for column in columns if sees_identity or column not in IDENTITY_COLUMNS]
        rows = [
            (LABELS[column], shown.get(column) or display_value(column, value))
            for column in visible
            if (value := getattr(user, column)) or column not in _HIDDEN_WHERE_EMPTY
        ]
        yield {"title": title, "rows": rows, "is_cut": len(visible) < len(columns)}
