"""How the docs answer: whole pages and files, for anybody's cache, with a length and a name for their state."""

from hashlib import sha256

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag

# A release is seen within minutes; an ETag spares what has not changed.
PUBLIC = "public, max-age=300"


def page(template: str, context: dict[str, object], *, status: int = 200) -> HttpResponse:
    """A page. Without the request: nothing on it depends on who reads."""
    return HttpResponse(render_to_string(template, context), status=status)


def public(request: HttpRequest, answer: HttpResponse) -> HttpResponseBase:
    """`answer` as caches may keep it, or 304 where the reader has it already."""
    etag = quote_etag(sha256(answer.content).hexdigest()[:32])
    answer.headers["Cache-Control"], answer.headers["ETag"] = PUBLIC, etag
    conditional = get_conditional_response(request, etag=etag, response=answer)
    return with_length(conditional or answer)


def private(answer: HttpResponse) -> HttpResponseBase:
    """`answer` as nobody may keep it."""
    answer.headers["Cache-Control"] = "no-store"
    return with_length(answer)


def with_length(answer: HttpResponseBase) -> HttpResponseBase:
    """`answer` with its length: the server would send it in chunks, and a HEAD would not tell how long it is."""
    if isinstance(answer, HttpResponse) and answer.status_code != 304:  # noqa: PLR2004 - has no content
        answer.headers["Content-Length"] = str(len(answer.content))
    return answer
