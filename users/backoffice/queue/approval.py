"""Approving several users, from the queue and from the admin's list: the choices that a form sent, and the report."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from users.backoffice.case.forms import DecisionForm
from users.backoffice.queue.rows import versions_of
from users.backoffice.waiting_time import age_of
from users.models import Staff, Status, User
from users.models.columns import IDENTITY_PERMISSION
from users.services import bulk_approval
from users.services.risk_flags import count_risk_flags


def choices_of(request: HttpRequest) -> list[bulk_approval.Choice]:
    """The rows that were chosen, each once."""
    sent = dict.fromkeys(request.POST.getlist("chosen"))
    return [choice for text in sent if (choice := bulk_approval.Choice.parse(text))]


def approval_form(data: Mapping[str, Any] | None = None) -> DecisionForm:
    """The form of an approval: a reason of the list, and a note where the reason needs one."""
    return DecisionForm(present=Status.PENDING_COMPLIANCE, to_status=Status.ACTIVE, data=data)


def approve(request: HttpRequest, form: DecisionForm, *, by: Staff, back: str, back_title: str) -> HttpResponse:
    """Approves what a POST with a valid form chose; the report of what was done and what was not.

    back: the address of the list that the choices come from; back_title: of the link to it.
    """
    try:
        results = bulk_approval.approve_all(
            choices=choices_of(request),
            **form.reason(),
            by=by,
            source=f"request {getattr(request, 'request_id', '')}",
        )
    except bulk_approval.TooManyError as refusal:
        messages.error(request, str(refusal))
        return redirect(back)
    context = {
        **admin.site.each_context(request),
        "title": _("Approved together"),
        "done": [result for result in results if not result.refusal],
        "refused": [result for result in results if result.refusal],
        "back": back,
        "back_title": back_title,
    }
    return render(request, "backoffice/queue_report.html", context)


def context_of(request: HttpRequest, users: Sequence[User], form: DecisionForm) -> dict[str, Any]:
    """What the page that asks for the reason shows of the chosen users. In three statements, however many they are."""
    versions, unread = versions_of(users), bulk_approval.users_with_unseen_flags([user.pk for user in users])
    hints = count_risk_flags(users, sees_identity=request.user.has_perm(IDENTITY_PERMISSION))
    sent = set(request.POST.getlist("chosen"))
    now = timezone.now()
    rows = [
        {
            "user": user,
            "age": age_of(user.status_since, now=now),
            "hints": hints[user.pk],
            "is_unread": user.pk in unread,
            # As the person saw it first: a change between the two pages is noticed.
            "choice": next(
                (one for one in sent if one.startswith(str(user.pk))), bulk_approval.Choice(user.pk, versions[user.pk])
            ),
        }
        for user in users
    ]
    return {"title": _("Approve the chosen users"), "rows": rows, "approval": form}
