"""The description of the API and the vectors for signing, which everybody may read: `_PATHS`."""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import orjson
import yaml
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path, resolve
from django.views.decorators.http import condition, require_safe

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


def _published(content: Callable[[], bytes]) -> Callable[[HttpRequest], HttpResponse]:
    """Return the view of a file, which caches may keep for minutes."""

    def etag(_request: HttpRequest) -> str:
        return f'"{hashlib.sha256(content()).hexdigest()}"'

    @require_safe
    @condition(etag_func=etag)
    def view(_request: HttpRequest) -> HttpResponse:
        return HttpResponse(content(), "application/json", headers={"Cache-Control": "public, max-age=300"})

    return view


urlpatterns = [
    path("openapi.json", _published(openapi_json), name="openapi"),
    path("docs/signing-vectors.json", _published(_signing_vectors), name="docs_signing_vectors"),
]
_PATHS = {f"/{pattern.pattern}" for pattern in urlpatterns}
