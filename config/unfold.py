"""The setting UNFOLD: name, colours and sidebar of the back office."""

from collections.abc import Callable
from typing import Any

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


# A link of the sidebar: its title, which is also the page's name in the breadcrumbs, icon, view, and permission.
Link = tuple[Any, str, str, str]


def _list_of(model: str, icon: str) -> Link:
    """Return the link to the admin's list of a model, titled by the model's plural name."""
    app, name = model.split(".")
    title = lazy(lambda: capfirst(apps.get_model(model)._meta.verbose_name_plural), str)()  # noqa: SLF001 - Django's public name
    return title, icon, f"admin:{app}_{name}_changelist", f"{app}.view_{name}"


OVERVIEW, QUEUE, SECOND_PERSON = "backoffice_landing", "admin:users_user_queue", "admin:users_proposal_changelist"
USERS = "admin:users_user_changelist"
SIDEBAR: tuple[tuple[Any, tuple[Link, ...]], ...] = (
    (
        _("Cases"),
        (
            (_("Overview"), "monitoring", OVERVIEW, "users.view_user"),
            (_("Queue"), "inbox", QUEUE, "users.view_user"),
            (_("Answered"), "mark_email_read", "admin:users_user_answered", "users.view_user"),
            (_("Waiting for the partner"), "hourglass_top", "admin:users_user_asked", "users.view_user"),
            (_("Changed since the decision"), "published_with_changes", "admin:users_user_changed", "users.view_user"),
            (_("For a second person"), "group_add", SECOND_PERSON, "users.view_proposal"),
            (_("Screening"), "person_search", "admin:users_fileentry_screening", "users.view_fileentry"),
            (_("Reviews"), "speed", "admin:users_fileentry_riskRating", "users.view_fileentry"),
            (_("Requests"), "forum", "admin:users_fileentry_personRequest", "users.view_fileentry"),
            _list_of("users.user", "group"),
            _list_of("transactions.conversion", "currency_exchange"),
            _list_of("transactions.document", "description"),
        ),
    ),
    (
        _("Oversight"),
        (
            _list_of("users.statuschange", "gavel"),
            _list_of("users.userevent", "history"),
            _list_of("users.accessrecord", "visibility"),
            _list_of("core.auditentry", "receipt_long"),
            (_("Records"), "event_busy", "backoffice_records", "users.keep_records"),
            (_("Export"), "download", "backoffice_exports", "users.export_user"),
        ),
    ),
    (
        _("Partners"),
        (
            _list_of("partners.partner", "handshake"),
            _list_of("partners.apikey", "key"),
            _list_of("events.webhookendpoint", "webhook"),
            _list_of("events.webhookdelivery", "outgoing_mail"),
        ),
    ),
    (_("Staff"), (_list_of("staff.staff", "badge"), _list_of("auth.group", "admin_panel_settings"))),
)


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the links that the user may follow; the one of the page, or the closest above it, is active."""
    from backoffice.lists.bounded_lists import bounded_count, count_text  # noqa: PLC0415 - settings load this module
    from users.decisions import proposals  # noqa: PLC0415

    addresses = {view: reverse(view) for _title, links in SIDEBAR for *_, view, _permission in links}
    # All pages are below the overview's address.
    path = request.path
    above = [one for one, at in addresses.items() if path.startswith(at) and (one != OVERVIEW or path == at)]
    active = max(above, key=lambda view: len(addresses[view]), default="")
    active = QUEUE if path.startswith("/admin/cases/") else active
    groups = []
    for group, links in SIDEBAR:
        items = []
        for title, icon, view, permission in links:
            if request.user.has_perm(permission):
                # Who decides begins with the users who wait.
                waiting = view == USERS and request.user.has_perm("users.decide_user")
                link = addresses[view] + ("?status__exact=pendingCompliance" if waiting else "")
                items.append({"title": title, "icon": icon, "link": link, "active": view == active})
                if view == SECOND_PERSON and (count := bounded_count(proposals.waiting())):
                    items[-1] |= {"badge": count_text(count), "badge_variant": "warning"}
        if items:
            groups.append({"title": group, "items": items})
    return groups


def _file(name: str) -> Callable[[HttpRequest], str]:
    # The name that collectstatic gave the file is known only when a page is rendered.
    return lambda _request: static(f"backoffice/{name}")


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
        # Unfold would write colours inline into each page; they are in look.css.
        "COLORS": lambda _request: {},
        "STYLES": [_file("look.css")],
        "SCRIPTS": [_file("backoffice.js")],
        "ENVIRONMENT": [_("Development"), "warning"] if debug else None,
        "SIDEBAR": {"show_search": False, "show_all_applications": False, "navigation": sidebar},
    }
