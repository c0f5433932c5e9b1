"""HTTP responses of the docs, with rules for caches."""

from hashlib import sha256
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag

HTML = "text/html; charset=utf-8"


def public(
    request: HttpRequest, content: str | bytes, content_type: str = HTML, *, shared: bool = True, disposition: str = ""
) -> HttpResponseBase:
    """Return a response that caches may keep for minutes, or a 304. shared: by caches of several readers too."""
    response = HttpResponse(content, content_type=content_type)
    response["Cache-Control"] = f"{'public' if shared else 'private'}, max-age=300"
    response["ETag"] = etag = quote_etag(sha256(response.content).hexdigest()[:32])
    if disposition:
        response["Content-Disposition"] = disposition
    return get_conditional_response(request, etag=etag, response=response) or response


def public_page(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponseBase:
    """Render a page without the request, because nothing on it depends on its reader."""
    return public(request, render_to_string(template, context))


def private(response: HttpResponse) -> HttpResponseBase:
    """Forbid caches to keep a response."""
    response["Cache-Control"] = "no-store"
    return response


def private_page(template: str, context: dict[str, Any], *, status: int = 200) -> HttpResponseBase:
    """Render a page that caches may not keep."""
    return private(HttpResponse(render_to_string(template, context), status=status))
