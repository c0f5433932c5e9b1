"""What the queue's template needs."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import number_format

from users.backoffice.case.forms import DecisionForm
from users.backoffice.queue.approval import approval_form
from users.backoffice.queue.filters import CHANGED, ME, WAITING, QueueFilters, View
from users.backoffice.queue.page import COUNTED, Page, Place, count, page_of
from users.backoffice.queue.rows import rows_of
from users.backoffice.queue.search import FOUND_AT_MOST, is_cut
from users.models import Claim, Staff, Status
from users.models.columns import IDENTITY_PERMISSION
from users.services import bulk_approval, claims, compliance

AFTER = "after"
_WAITING_USERS = Q(status=Status.PENDING_COMPLIANCE)


def context_of(
    request: HttpRequest,
    *,
    view: View,
    reader: Staff,
    asked: Mapping[str, str],
    approval: DecisionForm | None = None,
    chosen: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """The context of a page of the list. asked: the filters and the place, as the page's address has them.

    approval, chosen: a bulk approval that lacked something, shown as it was filled in.
    """
    now = timezone.now()
    filters = QueueFilters(asked, view=view, staff=reader)
    place = Place.parse(asked.get(AFTER, ""))
    sees_identity = reader.has_perm(IDENTITY_PERMISSION)
    page = Page()
    if is_valid := filters.is_valid():
        page = page_of(filters.criteria(now=now), after=place, sees_identity=sees_identity)
    rows = rows_of(page, view=view, reader=reader, now=now)
    given = filters.given()
    return {
        **admin.site.each_context(request),
        "title": view.page_title,
        "view": view,
        "tabs": list(_tabs(view)),
        "filters": filters,
        "narrowed": {name: value for name, value in given.items() if name != "q"},
        "term": given.get("q", ""),
        "is_valid": is_valid,
        "rows": rows,
        "page": page,
        "counted": _number(COUNTED),
        "total": _number(page.total or 0),
        "is_further": place is not None,
        "is_counted": page.total is not None and bool(rows),
        "is_search_cut": is_valid and bool(given.get("q")) and is_cut(given["q"]),
        "found_at_most": _number(FOUND_AT_MOST),
        "here": urlencode(given | ({AFTER: str(place)} if place else {})),
        "first": urlencode(given),
        "following": urlencode(given | {AFTER: str(page.following)}) if page.following else "",
        "shows_status": bool(given.get("q") or given.get("status") or given.get("claimed") == ME),
        "may_claim": reader.has_perm(claims.PERMISSION),
        "may_approve": reader.has_perm(compliance.PERMISSION) and any(row.choice for row in rows),
        "mine": Claim.objects.filter(staff=reader)[: COUNTED + 1].count(),
        "approval": approval or approval_form(),
        "chosen": chosen,
        "at_most": bulk_approval.AT_MOST,
    }


def _number(value: int) -> str:
    return number_format(value, force_grouping=True)


def _tabs(present: View) -> Any:
    for view, condition in ((WAITING, _WAITING_USERS), (CHANGED, CHANGED.always)):
        number = count(condition)
        yield {
            "title": view.page_title,
            "url": reverse(view.url_name),
            "number": f"{_number(COUNTED)}+" if number > COUNTED else _number(number),
            "is_present": view is present,
        }
