"""System checks refuse views and settings that declare unused attributes."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.urls import clear_url_caches, path
from pytest_django.fixtures import Settings
from rest_framework.versioning import URLPathVersioning

from partners.api.base import PartnerAPIView
from partners.api.response import JsonRenderer
from transactions.api.pagination import CursorPagination
from users.api.serializers import UserSerializer

urlpatterns: list[object] = []


@pytest.fixture
def urls(settings: Settings) -> Iterator[list[object]]:
    """The URL patterns that the check finds."""
    settings.ROOT_URLCONF = __name__
    clear_url_caches()
    yield urlpatterns
    urlpatterns.clear()
    clear_url_caches()


def test_the_views_and_settings_of_the_service_pass() -> None:
    call_command("check")


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ({"versioning_class": URLPathVersioning}, "E001"),
        ({"initial": lambda *_: None}, "E001"),
        ({"queryset": []}, "E001"),
        ({"get_renderers": list}, "E001"),
        ({"content_negotiation_class": object}, "E001"),
        ({"lookup_url_kwarg": "id"}, "E001"),
        ({"pagination_class": CursorPagination, "get": lambda view, *_: None}, "E001"),
        ({"serializer_class": UserSerializer, "post": lambda view, *_: None}, "E001"),
        ({"renderer_classes": (JsonRenderer, JsonRenderer)}, "E002"),
        ({"authentication_classes": ()}, "E004"),
    ],
)
def test_a_view_with_an_unused_attribute_is_refused(urls: list[object], declared: dict[str, object], code: str) -> None:
    view: Any = type("Another", (PartnerAPIView,), declared)
    urls.append(path("v1/another", view.as_view()))
    with pytest.raises(SystemCheckError, match=rf"partners\.{code}\) Another\."):
        call_command("check")


def test_a_view_with_used_attributes_passes(urls: list[object]) -> None:
    def get(view: Any, *_: object) -> None:
        view.paginator.get_paginated_response(view.serializer_class([]).data)

    used = {"permission_classes": (), "throttle_classes": (), "get": get}
    used |= {"serializer_class": UserSerializer, "pagination_class": CursorPagination}
    view: Any = type("Another", (PartnerAPIView,), used)
    urls.append(path("v1/another", view.as_view()))
    call_command("check")


def test_a_setting_that_no_view_uses_is_refused(settings: Settings) -> None:
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "PAGE_SIZE": 25}
    with pytest.raises(SystemCheckError, match=r"partners\.E003"):
        call_command("check")
