"""System checks that refuse DRF attributes and settings that are not used."""

import inspect
from collections.abc import Iterator
from types import CodeType
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.urls import get_resolver
from rest_framework.generics import GenericAPIView

# DRF's attributes that PartnerAPIView keeps the promise of. A view may declare these, and no other one of DRF's.
USED_ATTRIBUTES = {
    *("authentication_classes", "throttle_classes", "permission_classes", "parser_classes", "renderer_classes"),
    *("get_authenticators", "get_throttles", "get_permissions", "get_parsers", "get_exception_handler"),
    *("perform_authentication", "check_throttles", "check_permissions", "throttled", "permission_denied"),
    *("handle_exception", "initialize_request", "setup", "dispatch", "http_method_names", "schema"),
    *("serializer_class", "pagination_class", "paginator"),
}
USED_SETTINGS = {"EXCEPTION_HANDLER", "DEFAULT_PERMISSION_CLASSES", "UNAUTHENTICATED_USER", "DEFAULT_SCHEMA_CLASS"}
# What a view may declare, and what its own methods then have to read, as no other code of the base does.
READ_BY_VIEWS = {"serializer_class": {"serializer_class", "validated"}, "pagination_class": {"paginator"}}
HINT = "See PartnerAPIView in partners/api/base.py."


@register(Tags.urls)
def check_views(**_: Any) -> list[CheckMessage]:
    """Errors for views under /v1 that declare unused attributes."""
    from partners.api.base import PartnerAPIView  # noqa: PLC0415 - it needs the apps to be ready

    views = {getattr(callback, "view_class", object) for callback in get_resolver().reverse_dict}
    partner_views = sorted((view for view in views if issubclass(view, PartnerAPIView)), key=lambda view: view.__name__)
    return [message for view in partner_views for message in _check_view(view, PartnerAPIView)]


@register()
def check_settings(**_: Any) -> list[CheckMessage]:
    """Errors for settings of DRF that no view uses."""
    unused = sorted(settings.REST_FRAMEWORK.keys() - USED_SETTINGS)
    return [Error(f"REST_FRAMEWORK[{name!r}] is not used.", hint=HINT, id="partners.E003") for name in unused]


def _check_view(view: type[Any], base: type[Any]) -> Iterator[CheckMessage]:
    classes = [cls for cls in view.__mro__ if issubclass(cls, base) and cls is not base]
    declared = {name for cls in classes for name in vars(cls)}
    unknown = {name for name in (*dir(GenericAPIView), "head") if not name.startswith("_")} - USED_ATTRIBUTES
    # A cached property is represented by its function.
    functions = [getattr(value, "func", value) for cls in classes for value in vars(cls).values()]
    methods = [inspect.unwrap(function) for function in functions if inspect.isfunction(function)]
    read = {name for method in methods for name in _names(method.__code__)}
    unread = {name for name, attributes in READ_BY_VIEWS.items() if not attributes & read}
    for name in sorted(declared & (unknown | unread)):
        yield Error(f"{view.__name__}.{name} is not used.", hint=HINT, obj=view, id="partners.E001")
    if len(view.renderer_classes) != 1:
        yield Error(f"{view.__name__}.renderer_classes must be one class.", hint=HINT, obj=view, id="partners.E002")
    if not any(issubclass(cls, base.authentication_classes) for cls in view.authentication_classes):
        message = f"{view.__name__}.authentication_classes lacks SignatureAuthentication."
        yield Error(message, hint=HINT, obj=view, id="partners.E004")


def _names(code: CodeType) -> Iterator[str]:
    """The names that a function reads, those of functions within it included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
