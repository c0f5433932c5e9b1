"""What the case page shows of a user, to this reader: one bounded set of statements."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from users.backoffice.case.decisions import DecisionForm, moves
from users.backoffice.case.sections import Section, sections_for
from users.backoffice.case.timeline import MORE, SHOWN, SHOWN_AT_MOST, timeline
from users.backoffice.waiting_time import age_of
from users.models import Claim, Staff, Status, User
from users.models.columns import IDENTITY_COLUMNS, IDENTITY_PERMISSION
from users.services import claims, compliance
from users.services.changes import Version, since_last_decision
from users.services.labels import LABELS, birth_in_words, in_words
from users.services.risk_flags import risk_flags_for

ROWS_OF_A_SECTION = 5
HISTORY_PERMISSION = "users.view_userevent"
# What the partner submitted, as a person is looked at.
GROUPS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    ("person", ("first_name", "last_name", "date_of_birth", "email")),
    ("address", ("address_line1", "address_line2", "city", "postal_code", "province", "country")),
    ("work", ("occupation", "is_ciro_affiliate")),
)
# Lines that say nothing where they are empty.
_OPTIONAL = frozenset({"address_line2"})


def context_of(
    request: HttpRequest, user: User, *, refusal: Mapping[str, Any] | None = None, asked: DecisionForm | None = None
) -> dict[str, Any]:
    """What the case page needs. refusal: why nothing was done, and `asked`, the form that it was asked by."""
    reader = request.user
    assert isinstance(reader, Staff)  # noqa: S101 - pages of the back office are for staff alone
    sees_identity = reader.has_perm(IDENTITY_PERMISSION)
    return {
        **admin.site.each_context(request),
        # Of the window and of the browser's history: nothing personal.
        "title": _("Case %(id)s") % {"id": str(user.pk)[:8]},
        "groups": list(_groups(user, sees_identity=sees_identity)),
        "sections": [_section(section, user) for section in sections_for(request)],
        "refusal": refusal,
        **_history(request, user, reader, sees_identity=sees_identity),
        **head_of(user, reader, asked=asked, is_open=asked is not None and refusal is None),
    }


def head_of(user: User, reader: Staff, *, asked: DecisionForm | None = None, is_open: bool = False) -> dict[str, Any]:
    """Who a user is, what is odd, and what this reader may do: of the case page, and of the admin's page of a user.

    asked: a form that was refused. is_open: whether its dialog is to be shown at once.
    """
    sees_identity = reader.has_perm(IDENTITY_PERMISSION)
    return {
        "case_user": user,
        "name": f"{user.first_name} {user.last_name}",
        "status": Status(user.status),
        "age": age_of(user.status_since, now=timezone.now()) if user.status == Status.PENDING_COMPLIANCE else None,
        "sees_identity": sees_identity,
        "hints": risk_flags_for(user, sees_identity=sees_identity),
        **_deciding(user, reader, asked=asked, is_open=is_open),
    }


def _groups(user: User, *, sees_identity: bool) -> Any:
    titles = {"person": _("Person"), "address": _("Address"), "work": _("Occupation")}
    for name, columns in GROUPS:
        shown = [column for column in columns if sees_identity or column not in IDENTITY_COLUMNS]
        rows = [
            (LABELS[column], birth_in_words(value) if column == "date_of_birth" else in_words(column, value))
            for column in shown
            if (value := getattr(user, column)) or column not in _OPTIONAL
        ]
        yield {"title": titles[name], "rows": rows, "is_cut": len(shown) < len(columns)}


def _history(request: HttpRequest, user: User, reader: Staff, *, sees_identity: bool) -> dict[str, Any]:
    asked = request.GET.get("timeline", "")
    count = min(int(asked), SHOWN_AT_MOST) if asked.isascii() and asked.isdigit() and len(asked) < 6 else SHOWN  # noqa: PLR2004 - digits enough
    count = max(count, SHOWN)
    sees_history = reader.has_perm(HISTORY_PERMISSION)
    return {
        "changes": since_last_decision(user, sees_identity=sees_identity) if sees_history else None,
        "timeline": timeline(user, reader, count=count),
        "more_of_timeline": min(count + MORE, SHOWN_AT_MOST) if count < SHOWN_AT_MOST else None,
    }


def _deciding(user: User, reader: Staff, *, asked: DecisionForm | None, is_open: bool) -> dict[str, Any]:
    held = Claim.objects.select_related("staff").filter(pk=user.pk).first()
    is_others = held is not None and held.staff_id != reader.pk
    may_decide, may_claim = reader.has_perm(compliance.PERMISSION), reader.has_perm(claims.PERMISSION)
    return {
        "held": held,
        "is_held_by_reader": held is not None and not is_others,
        "is_held_by_another": is_others,
        "may_decide": may_decide,
        "may_claim": may_claim and held is None and claims.waits(user),
        "may_release": may_claim and held is not None and claims.may_release(held, reader),
        "may_review": may_decide and not is_others and user.identity_changed_at is not None,
        "moves": list(moves(user, asked=asked, is_open=is_open)) if may_decide and not is_others else [],
        "version": Version.of(user),
    }


def _section(section: Section, user: User) -> dict[str, Any]:
    # One more than is shown, to see whether there are more.
    rows = section.rows(user, ROWS_OF_A_SECTION + 1)
    return {
        "title": section.title,
        "headings": section.headings,
        "rows": rows[:ROWS_OF_A_SECTION],
        "has_more": len(rows) > ROWS_OF_A_SECTION,
        "all_rows": section.all_rows(user),
    }
