"""Page names: the same in sidebar, heading, window title and breadcrumbs."""

import re
from html import unescape

import pytest
from django.contrib import admin
from django.template.response import TemplateResponse
from django.test import Client, RequestFactory
from django.utils import translation

from staff.models import Staff
from tests import factories
from tests.support.staff import called, client_as, sent_by, words
from users.models import Status, StatusChange, UserEvent

# The same words in both languages.
ALIKE = {
    *("Conversions", "Documents", "Webhooks", "conversion", "conversions"),
    *("document", "documents", "webhook", "webhooks"),
}
PRODUCT = {"core", "events", "staff", "users", "partners", "transactions"}


def page_of(client: Client, path: str, language: str = "en") -> str:
    return unescape(client.get(path, headers={"Accept-Language": language}).content.decode())


def sidebar(page: str) -> dict[str, str]:
    """Names by address."""
    links = re.findall(
        r'<a href="(/admin/[^"?]*)(?:\?[^"]*)?"[^>]*>(.*?)</a>',
        page.partition('id="nav-sidebar-inner"')[2].partition("</nav>")[0],
        re.DOTALL,
    )
    return {path: words(text) for path, text in links if "account/" not in path}


def translated(name: object, language: str) -> str:
    with translation.override(language):
        return str(name)


def heading(page: str) -> str:
    return words(page.partition("<h1")[2].partition(">")[2].partition("</h1>")[0])


def window_title(page: str) -> str:
    return words(page.partition("<title>")[2].partition("</title>")[0]).partition(" | ")[0]


@pytest.mark.parametrize("language", ["en", "fr"])
def test_each_page_has_its_name_in_the_sidebar_as_heading_and_title(
    language: str, db: None, rf: RequestFactory
) -> None:
    names = sidebar(page_of(client_as("superuser"), "/admin/users/user/queue/", language))
    assert len(names) >= 14
    assert len(set(names.values())) == len(names)
    shown: dict[str, set[str]] = {}
    templates = set()
    for path in names:
        with translation.override(language):
            response = called(sent_by(Staff.objects.get(), rf.get(path)))
            shown[path] = set()
            if isinstance(response, TemplateResponse):
                assert response.context_data
                shown[path] = {str(response.context_data["title"])}
                if response.template_name in templates:
                    # It shows its title as another page does.
                    continue
                templates.add(response.template_name)
                response.render()
        page = unescape(response.content.decode())
        shown[path] |= {heading(page), window_title(page)}
    assert shown == {path: {name} for path, name in names.items()}


def test_the_names_of_models_are_french_in_french() -> None:
    for model in (model for model in admin.site._registry if model._meta.app_label in PRODUCT):
        for name in (model._meta.verbose_name, model._meta.verbose_name_plural):
            assert translated(name, "fr") != translated(name, "en") or str(name) in ALIKE, name


def test_the_breadcrumbs_name_the_page_above_once(db: None) -> None:
    user = factories.UserFactory.create(first_name="Grace", last_name="Hopper", status=Status.ACTIVE)
    client, decision = client_as("superuser"), StatusChange.objects.get(user=user)
    first, *_, last = UserEvent.objects.filter(pgh_obj=user).order_by("pgh_id")
    headings = {
        f"/admin/cases/{user.pk}/": f"Queue \u2068{user.full_name}\u2069 · Case {str(user.pk)[:8]}",
        f"/admin/users/statuschange/{decision.pk}/change/": f"Decisions {decision}",
        f"/admin/users/userevent/{first.pk}/change/": f"Profile history Created {first.pk}",
        f"/admin/users/userevent/{last.pk}/change/": f"Profile history Changed {last.pk}",
        f"/admin/partners/partner/{user.partner_id}/change/": f"Partners {user.partner.slug}",
        f"/admin/staff/staff/{Staff.objects.latest('pk').pk}/change/": f"Staff {Staff.objects.latest('pk').username}",
        "/admin/staff/staff/add/": "Staff Invite a colleague",
        f"/admin/cases/{user.pk}/evidence/": "Queue Evidence pack",
    }
    assert {path: heading(page_of(client, path)) for path in headings} == headings
