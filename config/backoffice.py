"""How the back office looks: its name, its colours, and what its sidebar leads to."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse, reverse_lazy
from django.utils.translation import gettext_lazy as _

TITLE = _("Partner Service — back office")


def gettext_noop(text: str) -> str:
    """Marks a text for `make messages`. Not Django's: that asks for the settings, which this module helps to make."""
    return text


# Words of Unfold's own, which has no French: here, `make messages` finds them.
WORDS_OF_UNFOLD = (
    *(gettext_noop("Dark"), gettext_noop("Light"), gettext_noop("System"), gettext_noop("Go back")),
    *(gettext_noop("Type to search"), gettext_noop("Search apps and models..."), gettext_noop("Recent searches")),
    *(gettext_noop("No recent searches"), gettext_noop("No results found"), gettext_noop("Reset filters")),
    *(gettext_noop("No results matching your query"), gettext_noop("Loading more results...")),
    *(gettext_noop("Apply Filters"), gettext_noop("More actions"), gettext_noop("Select all rows")),
    *(gettext_noop("Toggle password visibility"), gettext_noop("Expand row"), gettext_noop("General")),
    *(gettext_noop("Next"), gettext_noop("Previous"), gettext_noop("Submit"), gettext_noop("Run")),
    *(gettext_noop("True"), gettext_noop("False"), gettext_noop("No data")),
)


@dataclass(frozen=True, slots=True)
class Link:
    """A line of the sidebar. view: the name of its URL. permission: who sees it."""

    title: Any
    icon: str
    view: str
    permission: str


SIDEBAR: tuple[tuple[Any, tuple[Link, ...]], ...] = (
    (
        _("Cases"),
        (
            Link(_("Queue"), "inbox", "backoffice_queue", "users.view_user"),
            Link(_("Changed since approval"), "published_with_changes", "backoffice_changed", "users.view_user"),
            Link(_("Users"), "group", "admin:users_user_changelist", "users.view_user"),
            Link(
                _("Conversions"),
                "currency_exchange",
                "admin:transactions_conversion_changelist",
                "transactions.view_conversion",
            ),
            Link(_("Documents"), "description", "admin:transactions_document_changelist", "transactions.view_document"),
        ),
    ),
    (
        _("Oversight"),
        (
            Link(_("Dashboard"), "monitoring", "backoffice_dashboard", "users.view_dashboard"),
            Link(_("Decisions"), "gavel", "admin:users_statuschange_changelist", "users.view_statuschange"),
            Link(_("Profile history"), "history", "admin:users_userevent_changelist", "users.view_userevent"),
            Link(_("Access log"), "visibility", "admin:users_accessrecord_changelist", "users.view_accessrecord"),
            Link(_("Export"), "download", "backoffice_exports", "users.export_user"),
        ),
    ),
    (
        _("Partners"),
        (
            Link(_("Partners"), "handshake", "admin:partners_partner_changelist", "partners.view_partner"),
            Link(_("API keys"), "key", "admin:partners_apikey_changelist", "partners.view_apikey"),
        ),
    ),
    (
        _("Staff"),
        (
            Link(_("Staff"), "badge", "admin:users_staff_changelist", "users.view_staff"),
            Link(_("Roles"), "admin_panel_settings", "admin:auth_group_changelist", "auth.view_group"),
            Link(_("Log of actions"), "receipt_long", "admin:admin_logentry_changelist", "admin.view_logentry"),
        ),
    ),
)


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """The lines that the person may follow, as Unfold wants them; of these, the one they are at."""
    groups = [
        (title, [(link, reverse(link.view)) for link in links if request.user.has_perm(link.permission)])
        for title, links in SIDEBAR
    ]
    here = _present(request.path, (path for _title, links in groups for _link, path in links))
    return [
        {
            "title": title,
            "items": [
                {"title": link.title, "icon": link.icon, "link": path, "active": path == here} for link, path in links
            ],
        }
        for title, links in groups
        if links
    ]


def _present(path: str, paths: Iterator[str]) -> str:
    """The longest of `paths` that `path` begins with: a list's own pages lie below it."""
    return max((one for one in paths if path.startswith(one)), key=len, default="")


def _file(name: str) -> Callable[[HttpRequest], str]:
    # Asked for when a page is made: only then it is known what collectstatic called the file.
    return lambda _request: static(f"backoffice/{name}")


def _no_colours(_request: HttpRequest) -> dict[str, Any]:
    """None from here: Unfold would write them into each page. They are in palette.css."""
    return {}


def unfold(*, debug: bool) -> dict[str, Any]:
    """The setting UNFOLD. While `debug`, each page says that it is no production."""
    return {
        "SITE_TITLE": TITLE,
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
        "STYLES": [_file("palette.css"), _file("look.css")],
        "SCRIPTS": [_file("policy.js"), _file("copy.js")],
        "ENVIRONMENT": [_("Development"), "warning"] if debug else None,
        "SIDEBAR": {"show_search": False, "show_all_applications": False, "navigation": sidebar},
    }
