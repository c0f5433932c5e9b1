"""The setting UNFOLD: name, colours and sidebar of the back office."""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.apps import apps
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse, reverse_lazy
from django.utils.functional import lazy
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

# Unfold has no French: `make messages` finds its texts here.
UNFOLD_TEXTS = (
    *(_("Dark"), _("Light"), _("System"), _("Go back"), _("Type to search"), _("Search apps and models...")),
    *(_("Recent searches"), _("No recent searches"), _("No results found"), _("Reset filters")),
    *(_("No results matching your query"), _("Loading more results..."), _("Apply Filters"), _("More actions")),
    *(_("Select all rows"), _("Toggle password visibility"), _("Expand row"), _("General"), _("Next"), _("Previous")),
    *(_("Submit"), _("Run"), _("True"), _("False"), _("No data")),
    *(_("Select action"), _("Select action to run"), _("Select record")),
)


class Link(NamedTuple):
    """A link of the sidebar, for users with a permission; its title is also the page's name in the breadcrumbs."""

    title: Any
    icon: str
    view: str
    permission: str


def _list_of(app: str, model: str, icon: str) -> Link:
    """Return the link to the admin's list of a model, titled by the model's plural name."""

    def title() -> str:
        return str(capfirst(apps.get_model(app, model)._meta.verbose_name_plural))  # noqa: SLF001 - documented by Django

    return Link(lazy(title, str)(), icon, f"admin:{app}_{model}_changelist", f"{app}.view_{model}")


OVERVIEW = Link(_("Overview"), "monitoring", "backoffice_landing", "users.view_user")
QUEUE = Link(_("Queue"), "inbox", "admin:users_user_queue", "users.view_user")
USERS = _list_of("users", "user", "group")
SECOND_PERSON = Link(_("For a second person"), "group_add", "admin:users_proposal_changelist", "users.view_proposal")
SIDEBAR: tuple[tuple[Any, tuple[Link, ...]], ...] = (
    (
        _("Cases"),
        (
            OVERVIEW,
            QUEUE,
            Link(_("Answered"), "mark_email_read", "admin:users_user_answered", "users.view_user"),
            Link(_("Waiting for the partner"), "hourglass_top", "admin:users_user_asked", "users.view_user"),
            Link(
                _("Changed since the decision"),
                "published_with_changes",
                "admin:users_user_changed",
                "users.view_user",
            ),
            SECOND_PERSON,
            Link(_("Screening"), "person_search", "admin:users_fileentry_screening", "users.view_fileentry"),
            Link(_("Reviews"), "speed", "admin:users_fileentry_riskRating", "users.view_fileentry"),
            Link(_("Requests"), "forum", "admin:users_fileentry_personRequest", "users.view_fileentry"),
            USERS,
            _list_of("transactions", "conversion", "currency_exchange"),
            _list_of("transactions", "document", "description"),
        ),
    ),
    (
        _("Oversight"),
        (
            _list_of("users", "statuschange", "gavel"),
            _list_of("users", "userevent", "history"),
            _list_of("users", "accessrecord", "visibility"),
            _list_of("core", "auditentry", "receipt_long"),
            Link(_("Records"), "event_busy", "backoffice_records", "users.keep_records"),
            Link(_("Export"), "download", "backoffice_exports", "users.export_user"),
        ),
    ),
    (
        _("Partners"),
        (
            _list_of("partners", "partner", "handshake"),
            _list_of("partners", "apikey", "key"),
            _list_of("events", "webhookendpoint", "webhook"),
            _list_of("events", "webhookdelivery", "outgoing_mail"),
        ),
    ),
    (_("Staff"), (_list_of("staff", "staff", "badge"), _list_of("auth", "group", "admin_panel_settings"))),
)


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the links that the user may follow, in Unfold's form, with the present page's marked active."""
    groups, active = [], _active_link(request.path)
    for title, links in SIDEBAR:
        if items := [
            _item(link, request, is_active=link is active) for link in links if request.user.has_perm(link.permission)
        ]:
            groups.append({"title": title, "items": items})
    return groups


def _active_link(path: str) -> Link | None:
    """Return the link of which a page is the page, or the closest above it."""
    if path.startswith("/admin/cases/"):
        return QUEUE
    links = {reverse(link.view): link for _title, links in SIDEBAR for link in links}
    # All pages are below the overview's address.
    above = [one for one, link in links.items() if path.startswith(one) and (link is not OVERVIEW or path == one)]
    return links[max(above, key=len)] if above else None


def _item(link: Link, request: HttpRequest, *, is_active: bool) -> dict[str, Any]:
    address = reverse(link.view)
    if link is USERS and request.user.has_perm("users.decide_user"):
        address += "?status__exact=pendingCompliance"
    item = {"title": link.title, "icon": link.icon, "link": address, "active": is_active}
    if link is SECOND_PERSON and (count := _count_of_proposals()):
        item |= {"badge": count, "badge_variant": "warning"}
    return item


def _count_of_proposals() -> str:
    """Return how many proposals wait; empty without any."""
    from backoffice.lists.bounded_lists import bounded_count, count_text  # noqa: PLC0415 - settings load this module
    from users.decisions import proposals  # noqa: PLC0415

    count = bounded_count(proposals.waiting())
    return count_text(count) if count else ""


def _file(name: str) -> Callable[[HttpRequest], str]:
    # The name that collectstatic gave the file is known only when a page is rendered.
    return lambda _request: static(f"backoffice/{name}")


def _no_colours(_request: HttpRequest) -> dict[str, Any]:
    """Return no colours: Unfold would write them inline into each page; they are in look.css."""
    return {}


def unfold(*, debug: bool) -> dict[str, Any]:
    """Return the setting. debug: whether pages show that this is a development server."""
    return {
        "SITE_TITLE": _("Partner Service — back office"),
        "SITE_HEADER": _("Partner Service"),
        "SITE_SUBHEADER": _("Back office"),
        "SITE_ICON": {"light": _file("icon.svg"), "dark": _file("icon.svg")},
        "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": _file("icon.svg")}],
        "SITE_URL": None,
        "SHOW_VIEW_ON_SITE": False,
        "SHOW_LANGUAGES": True,
        "ACCOUNT": {
            "navigation": [
                {"title": _("Change password"), "link": reverse_lazy("account_change_password")},
                {"title": _("Second factors"), "link": reverse_lazy("mfa_index")},
            ]
        },
        "COLORS": _no_colours,
        "STYLES": [_file("look.css")],
        "SCRIPTS": [_file("backoffice.js")],
        "ENVIRONMENT": [_("Development"), "warning"] if debug else None,
        "SIDEBAR": {"show_search": False, "show_all_applications": False, "navigation": sidebar},
    }
