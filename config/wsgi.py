"""The WSGI application that the server loads: one door for partners, one for everybody else."""

import os
from collections.abc import Iterable
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)

from django.core.handlers.wsgi import WSGIHandler  # noqa: E402 - needs the settings

from partners.api.middleware import is_api_path  # noqa: E402
from partners.api.request import ApiHandler  # noqa: E402

_api, _others = ApiHandler(), WSGIHandler()


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answers a request (PEP 3333)."""
    handler = _api if is_api_path(environ["PATH_INFO"]) else _others
    return handler(environ, start_response)
