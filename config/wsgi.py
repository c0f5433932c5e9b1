"""The WSGI application that the server loads: a door for partners, one for who reads the docs, one for staff."""

import os
from collections.abc import Iterable
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)

from django.conf import settings  # noqa: E402 - from here on with the settings
from django.core.handlers.exception import convert_exception_to_response  # noqa: E402

from config.requests import PlainHandler, PlainRequest  # noqa: E402
from partners.api.handler import LeanHandler  # noqa: E402
from partners.api.middleware import is_api_path  # noqa: E402
from partners.api.request import ServiceRequest  # noqa: E402
from partners.api.views import answering_crashes  # noqa: E402
from partners.docs.views import is_docs_path  # noqa: E402

_api, _docs, _others = (
    LeanHandler(settings.API_MIDDLEWARE, "config.api_urls", ServiceRequest, answering_crashes),
    LeanHandler(settings.DOCS_MIDDLEWARE, "partners.docs.urls", PlainRequest, convert_exception_to_response),
    PlainHandler(),
)


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answers a request (PEP 3333)."""
    path = environ["PATH_INFO"]
    handler = _api if is_api_path(path) else _docs if is_docs_path(path) else _others
    return handler(environ, start_response)
