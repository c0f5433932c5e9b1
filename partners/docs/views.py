"""The docs' pages and files."""

from pathlib import Path
from threading import Lock
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.views.decorators.http import require_http_methods, require_safe

from partners.docs import changelog as changelog_page
from partners.docs import doctor_form, doctor_page, example_files, openapi, postman, responses
from partners.docs import guide as guide_page
from partners.docs import search as search_page
from partners.docs.reference import operations as reference_page
from partners.doctor import NotUnderstoodError, SecretPastedError, examine

DOCS_PATHS = ("/docs", "/openapi.json", "/llms.txt", "/favicon.ico")
FAVICON = Path(__file__).parents[1] / "static" / "docs" / "favicon.ico"


def is_docs_path(path: str) -> bool:
    """Whether a request's path belongs to the docs."""
    return path in DOCS_PATHS or path.startswith("/docs/")


@require_safe
def openapi_json(request: HttpRequest) -> HttpResponseBase:
    """The description of the API (OpenAPI 3.1)."""
    return responses.public(request, HttpResponse(openapi.document_bytes(), content_type="application/json"))


@require_safe
def guide(request: HttpRequest) -> HttpResponseBase:
    """The guide."""
    return responses.public(request, HttpResponse(guide_page.page(_base_url(request))), shared=False)


def _base_url(request: HttpRequest) -> str:
    """Return the address that this request was sent to. A page that shows it must not be in a shared cache."""
    return request.build_absolute_uri("/").rstrip("/")


@require_safe
def reference(request: HttpRequest) -> HttpResponseBase:
    """Every operation with its parameters, fields and answers."""
    return responses.public(request, HttpResponse(reference_page.page()))


@require_safe
def changelog(request: HttpRequest) -> HttpResponseBase:
    """The changelog."""
    return responses.public(request, HttpResponse(changelog_page.page()))


@require_safe
def search(request: HttpRequest) -> HttpResponseBase:
    """The sections of the docs that hold the words of the query `q`."""
    query = request.GET.get("q", "")[: search_page.LONGEST_QUERY].strip()
    context = {"here": "search", "query": query, "results": search_page.search(query)}
    return responses.private(responses.page("docs/search.html", context))


# Anybody may ask, and an examination takes some milliseconds of a thread that answers partners too: one at a time.
_examining = Lock()


# No CSRF token: nothing is stored, and no cookie says who asks.
@require_http_methods(["GET", "HEAD", "POST"])
def doctor(request: HttpRequest) -> HttpResponseBase:
    """The signature doctor: its page, and what it finds. A program that sends JSON is answered in JSON."""
    if request.method != "POST":
        return responses.public(request, responses.page("docs/doctor.html", doctor_page.context()))
    question = None
    try:
        question = doctor_form.read(request)
        found = _examine(question)
    except doctor_form.QuestionRefusedError as refusal:
        return _not_examined(request, str(refusal), status=refusal.status)
    except SecretPastedError as refusal:
        # Not put back into the form.
        return _not_examined(request, str(refusal), status=400)
    except NotUnderstoodError as refusal:
        return _not_examined(request, str(refusal), status=400, question=question)
    if doctor_form.wants_json(request):
        return responses.private(JsonResponse(found))
    return responses.private(
        responses.page("docs/doctor.html", doctor_page.context(question=question, examination=found))
    )


def _examine(question: doctor_form.Question) -> dict[str, Any]:
    """What the doctor finds. Raises NotUnderstoodError, and QuestionRefusedError while it examines for another."""
    if not _examining.acquire(blocking=False):
        raise doctor_form.QuestionRefusedError("The doctor is busy: ask again in a moment.", status=503)
    try:
        return examine(question.request, question.canonical, clock_skew_seconds=settings.CLOCK_SKEW_SECONDS)
    finally:
        _examining.release()


def _not_examined(
    request: HttpRequest, message: str, *, status: int, question: doctor_form.Question | None = None
) -> HttpResponseBase:
    if doctor_form.wants_json(request):
        return responses.private(JsonResponse({"message": message}, status=status))
    context = doctor_page.context(question=question, message=message)
    return responses.private(responses.page("docs/doctor.html", context, status=status))


@require_safe
def llms_txt(request: HttpRequest) -> HttpResponseBase:
    """An overview of the docs for language models (llmstxt.org)."""
    base_url = _base_url(request)
    context = {"base_url": base_url, "sections": guide_page.SECTIONS, "clients": example_files.clients()}
    text = render_to_string("docs/llms.txt", context)
    return responses.public(request, HttpResponse(text, content_type="text/plain; charset=utf-8"), shared=False)


@require_safe
def favicon(request: HttpRequest) -> HttpResponseBase:
    """The icon for browsers and feed readers that look for it at the root."""
    return responses.public(request, HttpResponse(FAVICON.read_bytes(), content_type="image/x-icon"))


@require_safe
def postman_json(request: HttpRequest) -> HttpResponseBase:
    """The Postman collection, with the address that this request was sent to."""
    collection = HttpResponse(postman.collection_bytes(_base_url(request)), content_type="application/json")
    collection.headers["Content-Disposition"] = 'attachment; filename="partner-service.postman_collection.json"'
    return responses.public(request, collection, shared=False)


@require_safe
def signing_vectors(request: HttpRequest) -> HttpResponseBase:
    """Requests with their canonical form and signature."""
    return responses.public(request, HttpResponse(example_files.VECTORS.read_bytes(), content_type="application/json"))


@require_safe
def example(request: HttpRequest, name: str) -> HttpResponseBase:
    """A file of docs/examples or of its snippets, as text, whatever it holds."""
    path = example_files.files().get(name)
    if path is None:
        return not_found(request)
    answer = HttpResponse(path.read_bytes(), content_type="text/plain; charset=utf-8")
    answer.headers["Content-Disposition"] = f'inline; filename="{name}"'
    return responses.public(request, answer)


def not_found(_request: HttpRequest) -> HttpResponseBase:
    """The docs' own page for any other path below them."""
    return responses.private(responses.page("docs/not_found.html", {}, status=404))
