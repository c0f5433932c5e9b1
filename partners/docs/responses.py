"""How the docs answer: whole pages and files, for anybody's cache, with a length and a name for their state."""

from collections.abc import Mapping
from hashlib import sha256

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag

# A release is seen within minutes; an ETag spares what has not changed.
KEPT = "max-age=300"
PRIVATE = "no-store"


def page(template: str, context: Mapping[str, object], *, status: int = 200) -> HttpResponse:
    """A page. Without the request: nothing on it depends on who reads."""
    return HttpResponse(render_to_string(template, context), status=status)


def public(request: HttpRequest, answer: HttpResponse, *, shared: bool = True) -> HttpResponseBase:
    """`answer` as caches may keep it, the reader's alone unless `shared`, or 304 where the reader has it already."""
    etag = quote_etag(sha256(answer.content).hexdigest()[:32])
    answer.headers["Cache-Control"] = f"{'public' if shared else 'private'}, {KEPT}"
    answer.headers["ETag"] = etag
    return get_conditional_response(request, etag=etag, response=answer) or answer


def private(answer: HttpResponse) -> HttpResponseBase:
    """`answer` as nobody may keep it."""
    answer.headers["Cache-Control"] = PRIVATE
    return answer
