"""What Django serves of the documentation; WhiteNoise serves the pages of /docs before (WHITENOISE_ROOT)."""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import orjson
import yaml
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path, re_path, resolve
from django.views.decorators.http import condition, require_safe

from core.evidence_key import published

_DOCS = Path(__file__).parents[1] / "docs"
DESCRIPTION = _DOCS / "openapi.yaml"


class DescriptionMiddleware:
    """Responds before sessions and the staff login, which would make these files private."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Handle a request for one of these paths; pass on all others."""
        if request.path_info not in _PATHS:
            return self.get_response(request)
        response: HttpResponse = resolve(request.path_info).func(request)
        response.headers.setdefault("Cache-Control", "no-store")
        # Without it the server sends a response in chunks, and a HEAD without a length.
        response.headers["Content-Length"] = str(len(response.content))
        return response


@cache
def openapi_json() -> bytes:
    """Return docs/openapi.yaml as JSON. It takes 0.1 s, once a process."""
    with DESCRIPTION.open(encoding="utf-8") as file:
        document = yaml.load(file, yaml.CSafeLoader)
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


@cache
def _signing_vectors() -> bytes:
    return (_DOCS / "signing-vectors.json").read_bytes()


def _view_of(content: Callable[[], bytes]) -> Callable[[HttpRequest], HttpResponse]:
    """Return the view of a file, which caches may keep for minutes."""

    def etag(_request: HttpRequest) -> str:
        return f'"{hashlib.sha256(content()).hexdigest()}"'

    @require_safe
    @condition(etag_func=etag)
    def view(_request: HttpRequest) -> HttpResponse:
        return HttpResponse(content(), "application/json", headers={"Cache-Control": "public, max-age=300"})

    return view


@require_safe
def keys(_request: HttpRequest) -> HttpResponse:
    """The public key that verifies evidence packs."""
    return HttpResponse(published(), "text/plain; charset=utf-8", headers={"Cache-Control": "public, max-age=300"})


def not_found(_request: HttpRequest) -> HttpResponse:
    """The pages' own 404 page."""
    page = settings.WHITENOISE_ROOT / "docs" / "404" / "index.html"
    text = page.read_text() if page.exists() else "The pages are not built: make docs.\n"
    return HttpResponse(text, status=404, headers={"Cache-Control": "no-store"})


_FILES = [
    path("openapi.json", _view_of(openapi_json), name="openapi"),
    path("docs/signing-vectors.json", _view_of(_signing_vectors), name="docs_signing_vectors"),
]
_PATHS = {f"/{pattern.pattern}" for pattern in _FILES}
urlpatterns = [
    *_FILES,
    path("docs/keys", keys),
    # A prefix, because `.` does not match a line feed.
    re_path(r"^docs(?:/|\Z)", not_found),
]
