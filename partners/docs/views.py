"""Pages and files of the docs."""

from pathlib import Path

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from partners.docs import changelog as changelog_page
from partners.docs import example_files, openapi, postman
from partners.docs import guide as guide_page
from partners.docs import search as search_page
from partners.docs.reference import operations as reference_page
from partners.docs.responses import private_page, public

FAVICON = Path(__file__).parents[1] / "static" / "docs" / "favicon.ico"
_JSON, _TEXT = "application/json", "text/plain; charset=utf-8"


def _base_url(request: HttpRequest) -> str:
    """Return the address of this request. A response that shows it must not be in a shared cache."""
    return request.build_absolute_uri("/").rstrip("/")


@require_safe
def guide(request: HttpRequest) -> HttpResponseBase:
    """The guide."""
    return public(request, guide_page.page(_base_url(request)), shared=False)


@require_safe
def reference(request: HttpRequest) -> HttpResponseBase:
    """Every operation with its parameters, fields and responses."""
    return public(request, reference_page.page())


@require_safe
def changelog(request: HttpRequest) -> HttpResponseBase:
    """The changelog."""
    return public(request, changelog_page.page())


@require_safe
def search(request: HttpRequest) -> HttpResponseBase:
    """The sections of the docs that match the query `q`."""
    query = request.GET.get("q", "")[: search_page.LONGEST_QUERY].strip()
    return private_page("docs/search.html", {"here": "search", "query": query, "results": search_page.search(query)})


@require_safe
def openapi_json(request: HttpRequest) -> HttpResponseBase:
    """The OpenAPI 3.1 description."""
    return public(request, openapi.document_bytes(), _JSON)


@require_safe
def postman_json(request: HttpRequest) -> HttpResponseBase:
    """The Postman collection for the address of this request."""
    disposition = 'attachment; filename="partner-service.postman_collection.json"'
    content = postman.collection_bytes(_base_url(request))
    return public(request, content, _JSON, shared=False, disposition=disposition)


@require_safe
def signing_vectors(request: HttpRequest) -> HttpResponseBase:
    """Requests with their canonical form and signature."""
    return public(request, example_files.VECTORS.read_bytes(), _JSON)


@require_safe
def llms_txt(request: HttpRequest) -> HttpResponseBase:
    """An overview of the docs for language models (llmstxt.org)."""
    base_url = _base_url(request)
    context = {"base_url": base_url, "sections": guide_page.SECTIONS, "clients": example_files.clients()}
    return public(request, render_to_string("docs/llms.txt", context), _TEXT, shared=False)


@require_safe
def favicon(request: HttpRequest) -> HttpResponseBase:
    """The icon for programs that request it at the root."""
    return public(request, FAVICON.read_bytes(), "image/x-icon")


@require_safe
def example(request: HttpRequest, name: str) -> HttpResponseBase:
    """A file of docs/examples or of its snippets, as text."""
    path = example_files.files().get(name)
    if path is None:
        return not_found(request)
    return public(request, path.read_bytes(), _TEXT, disposition=f'inline; filename="{name}"')


def not_found(_request: HttpRequest) -> HttpResponseBase:
    """The docs' own 404 page."""
    return private_page("docs/not_found.html", {}, status=404)
