"""How the back office looks: its name, its colours, and what its sidebar leads to."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse, reverse_lazy
from django.utils.functional import lazy
from django.utils.text import capfirst
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
    """A line of the sidebar. view: the name of its URL. permission: who sees it.

    title: also the name of the page in the breadcrumbs. below: the path of pages that belong to it, if not its own.
    query: the part of a list that the line leads to, for those who have query_permission.
    """

    title: Any
    icon: str
    view: str
    permission: str
    below: str = ""
    query: str = ""
    query_permission: str = ""

    def address(self, request: HttpRequest) -> str:
        """Where the line leads the person of this request."""
        query = self.query if request.user.has_perm(self.query_permission) else ""
        return reverse(self.view) + query


def _list_of(app: str, model: str, icon: str, **options: str) -> Link:
    """The admin's list of a model, under the model's own name."""

    def title() -> str:
        return str(capfirst(apps.get_model(app, model)._meta.verbose_name_plural))  # noqa: SLF001 - public in all but name

    return Link(lazy(title, str)(), icon, f"admin:{app}_{model}_changelist", f"{app}.view_{model}", **options)


SIDEBAR: tuple[tuple[Any, tuple[Link, ...]], ...] = (
    (
        _("Cases"),
        (
            Link(_("Queue"), "inbox", "admin:users_queueduser_changelist", "users.view_user", below="/admin/cases/"),
            Link(
                _("Changed since approval"),
                "published_with_changes",
                "admin:users_changeduser_changelist",
                "users.view_user",
            ),
            _list_of(
                "users",
                "user",
                "group",
                query="?status__exact=pendingCompliance",
                query_permission="users.decide_user",
            ),
            _list_of("transactions", "conversion", "currency_exchange"),
            _list_of("transactions", "document", "description"),
        ),
    ),
    (
        _("Oversight"),
        (
            Link(_("Dashboard"), "monitoring", "backoffice_dashboard", "users.view_dashboard"),
            _list_of("users", "statuschange", "gavel"),
            _list_of("users", "userevent", "history"),
            _list_of("users", "accessrecord", "visibility"),
            Link(_("Export"), "download", "backoffice_exports", "users.export_user"),
        ),
    ),
    (_("Partners"), (_list_of("partners", "partner", "handshake"), _list_of("partners", "apikey", "key"))),
    (
        _("Staff"),
        (
            _list_of("users", "staff", "badge"),
            _list_of("auth", "group", "admin_panel_settings"),
            _list_of("admin", "logentry", "receipt_long"),
        ),
    ),
)


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """The lines that the person may follow, as Unfold wants them; of these, the one they are at."""
    groups = [
        (title, [(link, reverse(link.view)) for link in links if request.user.has_perm(link.permission)])
        for title, links in SIDEBAR
    ]
    here = _present(request.path, [entry for _title, links in groups for entry in links])
    return [
        {
            "title": title,
            "items": [
                {"title": link.title, "icon": link.icon, "link": link.address(request), "active": link is here}
                for link, _path in links
            ],
        }
        for title, links in groups
        if links
    ]


def _present(path: str, links: list[tuple[Link, str]]) -> Link | None:
    """The link with the longest path that `path` begins with: a list's own pages lie below it."""
    starts = [(start, link) for link, own in links for start in (own, link.below) if start and path.startswith(start)]
    return max(starts, key=lambda one: len(one[0]))[1] if starts else None


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
