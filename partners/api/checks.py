"""System checks that refuse DRF attributes and settings that are not used."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.urls import get_resolver

# PartnerAPIView.dispatch does not use these.
UNUSED_ATTRIBUTES = {
    *("versioning_class", "metadata_class", "throttle_scope", "settings", "filter_backends", "queryset"),
    *("lookup_field", "lookup_url_kwarg", "initial", "finalize_response", "determine_version"),
    *("perform_content_negotiation", "http_method_not_allowed", "options", "head"),
    *("get_renderers", "get_renderer_context", "get_parser_context"),
}
USED_SETTINGS = {"EXCEPTION_HANDLER", "DEFAULT_PERMISSION_CLASSES", "UNAUTHENTICATED_USER", "DEFAULT_SCHEMA_CLASS"}
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
    declared = {name for cls in view.__mro__ if issubclass(cls, base) and cls is not base for name in vars(cls)}
    for name in sorted(declared & UNUSED_ATTRIBUTES):
        yield Error(f"{view.__name__}.{name} is not used.", hint=HINT, obj=view, id="partners.E001")
    if len(view.renderer_classes) != 1:
        yield Error(f"{view.__name__}.renderer_classes must be one class.", hint=HINT, obj=view, id="partners.E002")
    if not any(issubclass(cls, base.authentication_classes) for cls in view.authentication_classes):
        message = f"{view.__name__}.authentication_classes lacks SignatureAuthentication."
        yield Error(message, hint=HINT, obj=view, id="partners.E004")
