"""The tags and filters of the back office's templates: breadcrumbs, bands, who can help at the login, and values."""

from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django import template
from django.conf import settings
from django.contrib.admin import ChoicesFieldListFilter
from django.contrib.admin.views.main import ChangeList
from django.template.context import RequestContext
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

from backoffice.access import VIEW_CASES
from backoffice.lists.cells import moment
from staff.access import administrators
from users.models import Hold, User, UserEvent
from users.retention import PERMISSION, held

register = template.Library()
register.filter("moment", moment)

MAX_NAMES = 5


@register.simple_tag(takes_context=True)
def breadcrumbs(context: RequestContext) -> list[dict[str, str]]:
    """The line of the sidebar that the page belongs to, and the page: `page_name`, or the row, or the title."""
    groups = context.get("sidebar_navigation") or []
    here = [item for group in groups for item in group["items"] if item["active"]]
    crumbs = [{"title": str(item["title"]), "link": item["link"]} for item in here[:1]]
    row = context.get("original")
    name = context.get("page_name") or (row if row and not isinstance(row, str) else context.get("title"))
    # The page of the sidebar's line itself has no link to it.
    above = [] if crumbs and str(name) == crumbs[0]["title"] else crumbs
    return [*above, {"title": str(name or ""), "link": ""}]


@register.simple_tag
def status_choices(changelist: ChangeList) -> list[Any]:
    """The choices of the list's filter by status."""
    specs = [one for one in changelist.filter_specs if isinstance(one, ChoicesFieldListFilter)]
    return [choice for one in specs for choice in one.choices(changelist)]


@register.inclusion_tag("backoffice/held_band.html", takes_context=True)
def held_band(context: RequestContext, row: Any) -> dict[str, Any]:
    """Say that a row's user is held, to who sees users; to who may hold, also by whom, since when and why."""
    owner = {User: "pk", UserEvent: "pgh_obj_id"}.get(type(row), "user_id")
    user_id, reader = getattr(row, owner, None), context["request"].user
    if not isinstance(user_id, UUID) or not reader.has_perm(VIEW_CASES) or not held({user_id}):
        return {}
    holds = Hold.objects.filter(user=user_id, release=None).select_related("by").order_by("created_at", "id")
    return {"is_held": True, "holds": holds if reader.has_perm(PERMISSION) else []}


@register.simple_tag
def sign_in_methods() -> dict[str, Any]:
    """The name of the company's provider, if any, and whether passwords are for all accounts."""
    return {
        "provider": settings.STAFF_OIDC_ISSUER and settings.STAFF_OIDC_NAME,
        "password": settings.STAFF_PASSWORD_LOGIN,
    }


@register.simple_tag(name="administrators")
def names_of_administrators() -> list[str]:
    """The names of at most MAX_NAMES administrators; superusers only where there is nobody else."""
    found = list(administrators())
    people = [staff for staff in found if not staff.is_superuser] or found
    return [staff.get_full_name() or staff.get_username() for staff in people[:MAX_NAMES]]


@register.filter
def cell(value: Any) -> Any:
    """A cell of a table: a date and time, or nothing, by `moment`, any other value as it is."""
    return moment(value) if value is None or isinstance(value, datetime) else value


@register.filter
def digits(value: Decimal) -> str:
    """A number as it was recorded, without an exponent, in any language."""
    return f"{value:f}"


@register.filter
def breakable(value: str) -> SafeString:
    """Text whose line may end after an @, so that a long e-mail address breaks there and not within a word."""
    return mark_safe(conditional_escape(value).replace("@", "@<wbr>"))  # noqa: S308 - escaped just before
