"""Where a page is, for its header."""

from typing import NamedTuple

from django import template
from django.contrib.admin.views.main import ChangeList
from django.template.context import RequestContext
from django.utils.translation import gettext as _

from users.models import Status

register = template.Library()


class Crumb(NamedTuple):
    """A step of the way to a page. link: empty for the page itself."""

    title: str
    link: str = ""


@register.simple_tag(takes_context=True)
def breadcrumbs(context: RequestContext) -> list[Crumb]:
    """The line of the sidebar that the page belongs to, under the name that it has there, and then the page.

    Not Unfold's, which begin with the name of the Django app: "Users › Users". `page_name` in the context is the
    page's name where its title is too little; a row's page is named by the row.
    """
    groups = context.get("sidebar_navigation") or []
    here = [item for group in groups for item in group["items"] if item["active"]]
    crumbs = [Crumb(str(item["title"]), item["link"]) for item in here[:1]]
    row = context.get("original")
    name = context.get("page_name") or (row if row and not isinstance(row, str) else context.get("title"))
    # The page of the sidebar's line itself, and not one that asks something at the same address.
    above = [] if crumbs and str(name) == crumbs[0].title else crumbs
    return [*above, Crumb(str(name or ""))]


class StatusLink(NamedTuple):
    """A choice of the list of users. query: the rest of its address."""

    title: str
    query: str
    is_present: bool


@register.simple_tag
def status_links(changelist: ChangeList) -> list[StatusLink]:
    """The list of users by status; its search and other filters are kept."""
    present = changelist.params.get("status__exact", "")
    # Where a cut list of one status went on has no meaning in another.
    others = [name for name in changelist.params if name.startswith("status")]
    return [
        StatusLink(
            str(label),
            changelist.get_query_string({"status__exact": value} if value else None, remove=[*others, "p"]),
            value == present,
        )
        for value, label in (("", _("All")), *Status.choices)
    ]
