"""The lists of users: all of them, and the work lists, which are tabs of one page: each a condition and its order."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import BooleanRadioFilter, ChoicesDropdownFilter, RelatedDropdownFilter

from backoffice.access import staff_of
from backoffice.lists.bounded_lists import BackOfficeAdmin, bounded_count, count_text
from backoffice.lists.cells import flag_legend
from backoffice.lists.pages import MODE
from backoffice.users import filters
from partners.models import Mode
from users.decisions import proposals
from users.models import ANSWERED, ASKED, Claim, Status, User
from users.models.case import in_mode

HEAD = "admin/users/user/head.html"
# The order of the index user_by_status among users of one status.
STATUS_ORDER = ("status_since", "id")
# The order of the indexes user_waiting and user_answered.
QUEUE_ORDER = ("waiting_since", "id")


@dataclass(frozen=True, kw_only=True)
class UserList:
    """Users who fulfil a condition, in the order of an index. columns: of UserAdmin."""

    title: Any
    condition: Q
    columns: tuple[str, ...]
    filters: tuple[Any, ...]
    ordering: tuple[str, ...]
    order_note: Any
    empty_title: Any = BackOfficeAdmin.empty_title
    empty_text: Any = BackOfficeAdmin.empty_text


_COLUMNS = ("place", "risk_flags", "claimed_by", "buttons")
_MORE_FILTERS = (
    filters.ClaimedFilter,
    filters.RiskFlagsFilter,
    ("partner", RelatedDropdownFilter),
    filters.ProvinceFilter,
    filters.CountryFilter,
    ("is_ciro_affiliate", BooleanRadioFilter),
    filters.ModeFilter,
)
_FILTERS = (filters.WaitingTimeFilter, *_MORE_FILTERS)
_STATUS = ("status", ChoicesDropdownFilter)

ALL = UserList(
    title=_("Users"),
    condition=Q(),
    columns=("user", "status_badge", "in_status", "created_at"),
    filters=(
        ("status", filters.StatusFilter),
        filters.RiskFlagsFilter,
        ("partner", RelatedDropdownFilter),
        filters.CountryFilter,
        filters.ModeFilter,
    ),
    # Of the index user_by_status.
    ordering=("status", *STATUS_ORDER),
    order_note=_("by status, in each the longest first"),
)
# By the last part of the address.
WORK_LISTS: Mapping[str, UserList] = {
    "queue": UserList(
        title=_("Queue"),
        condition=filters.TO_DECIDE,
        columns=("in_status", "user", *_COLUMNS),
        filters=_FILTERS,
        ordering=QUEUE_ORDER,
        order_note=_("longest first"),
        empty_title=_("Nobody is waiting"),
        empty_text=_("New users appear here when partners register them."),
    ),
    "answered": UserList(
        title=_("Answered"),
        condition=ANSWERED,
        columns=("since_answer", "user_and_status", *_COLUMNS),
        filters=(filters.AskedByFilter, *_FILTERS, _STATUS),
        ordering=QUEUE_ORDER,
        order_note=_("longest first"),
        empty_title=_("Nothing to read"),
        empty_text=_("A user appears here when the partner has answered all that was asked."),
    ),
    "asked": UserList(
        title=_("Waiting for the partner"),
        condition=ASKED,
        columns=("due", "user_and_status", *_COLUMNS),
        filters=(filters.DueFilter, filters.AskedByFilter, _STATUS, *_MORE_FILTERS),
        # Of the index user_waiting_for_partner.
        ordering=("requirements_due_at", "id"),
        order_note=_("by when the answer is due"),
        empty_title=_("No partner is asked"),
        empty_text=_("A user appears here when compliance asks the partner, until the partner answers."),
    ),
    "changed": UserList(
        title=_("Changed since the decision"),
        condition=Q(status=Status.ACTIVE, identity_changed_at__isnull=False),
        columns=("since_change", "user", *_COLUMNS),
        filters=_MORE_FILTERS,
        # Of the index user_identity_changed. The latest first: a change that is in order stays on the list.
        ordering=("-identity_changed_at", "-id"),
        order_note=_("the latest first"),
        empty_title=_("Nobody has changed"),
        empty_text=_("An active user appears here when the partner changes the name or the birth date."),
    ),
}
# What a search in the queue finds, and one's own cases: users of every status.
_FOUND = replace(
    WORK_LISTS["queue"],
    condition=Q(),
    columns=("in_status", "user_and_status", *_COLUMNS),
    filters=(_STATUS, *_FILTERS),
    ordering=STATUS_ORDER,
)


def list_of(request: HttpRequest) -> UserList:
    """The list that a request is for, by its address; that of all users for other pages of the admin."""
    match = request.resolver_match
    name = ((match and match.url_name) or "").removeprefix("users_user_")
    if name == "queue" and (request.GET.get("q", "").strip() or request.GET.get("claimed") == filters.ME):
        return _FOUND
    return WORK_LISTS.get(name, ALL)


def tabs(request: HttpRequest, lists: Mapping[str, tuple[Any, QuerySet[Any]]]) -> list[dict[str, Any]]:
    """Links to lists, each with its number of rows. lists: titles and rows, by the names of the addresses."""
    query = {MODE: Mode.SANDBOX.value} if filters.mode_of(request) == Mode.SANDBOX else {}
    return [
        {
            "title": title,
            "url": reverse(f"admin:{name}", query=query),
            "count": count_text(bounded_count(rows)),
            "is_present": request.path == reverse(f"admin:{name}"),
        }
        for name, (title, rows) in lists.items()
    ]


def head_context(request: HttpRequest) -> dict[str, Any]:
    """The context of HEAD above the work lists: each other as tabs, and one's own claims."""
    mode, sees_identity = filters.mode_of(request), filters.sees_identity(request)
    lists: dict[str, tuple[Any, QuerySet[Any]]] = {
        f"users_user_{name}": (one.title, in_mode(User.objects.filter(one.condition), mode))
        for name, one in WORK_LISTS.items()
    }
    # Sandbox users have no proposals.
    if mode == Mode.LIVE and request.user.has_perm("users.view_proposal"):
        lists["users_proposal_changelist"] = (_("For a second person"), proposals.waiting())
    return {
        "tabs": tabs(request, lists),
        "sees_identity": sees_identity,
        "flag_legend": flag_legend(sees_identity=sees_identity),
        "claimed_count": bounded_count(in_mode(Claim.objects.filter(staff=staff_of(request)), mode)),
    }
