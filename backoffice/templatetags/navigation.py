"""Breadcrumbs, and the statuses above the list of users."""

from typing import Any, NamedTuple

from django import template
from django.contrib.admin import ChoicesFieldListFilter
from django.contrib.admin.views.main import ChangeList
from django.template.context import RequestContext

register = template.Library()


class Crumb(NamedTuple):
    """A link of the breadcrumbs; empty for the page itself."""

    title: str
    link: str = ""


@register.simple_tag(takes_context=True)
def breadcrumbs(context: RequestContext) -> list[Crumb]:
    """The line of the sidebar that the page belongs to, and the page; Unfold's begin with the name of the Django app.

    The page's name is `page_name` of the context, or the row, or the title.
    """
    groups = context.get("sidebar_navigation") or []
    here = [item for group in groups for item in group["items"] if item["active"]]
    crumbs = [Crumb(str(item["title"]), item["link"]) for item in here[:1]]
    row = context.get("original")
    name = context.get("page_name") or (row if row and not isinstance(row, str) else context.get("title"))
    # The page of the sidebar's line itself has no link to it.
    above = [] if crumbs and str(name) == crumbs[0].title else crumbs
    return [*above, Crumb(str(name or ""))]


@register.simple_tag
def status_choices(changelist: ChangeList) -> list[Any]:
    """The choices of the list's filter by status."""
    status = next(one for one in changelist.filter_specs if isinstance(one, ChoicesFieldListFilter))
    return list(status.choices(changelist))
