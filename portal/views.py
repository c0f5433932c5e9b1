"""Pages and files of the docs."""

from collections.abc import Callable
from pathlib import Path

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from partners.evidence import VERIFY
from partners.evidence.keys import published as published_key
from portal import search as search_page
from portal import site
from portal.guide import changelog as changelog_page
from portal.guide import example_files
from portal.guide import go_live as go_live_page
from portal.guide import guide as guide_page
from portal.reference import countries as countries_page
from portal.reference import pages as reference_pages
from portal.reference import postman

FAVICON = Path(__file__).parent / "static" / "docs" / "favicon.ico"
_JSON, _TEXT, _MARKDOWN = "application/json", "text/plain; charset=utf-8", "text/markdown; charset=utf-8"


def public(
    content: str | bytes, content_type: str | None = None, *, shared: bool = True, disposition: str = ""
) -> HttpResponse:
    """Return a response that caches may keep for minutes. shared: caches of several readers too."""
    response = HttpResponse(content, content_type=content_type)
    response["Cache-Control"] = f"{'public' if shared else 'private'}, max-age=300"
    if disposition:
        response["Content-Disposition"] = disposition
    return response


def _base_url(request: HttpRequest) -> str:
    """Return the address of this request. A response that shows it must not be in a shared cache."""
    return request.build_absolute_uri("/").rstrip("/")


def published(content: Callable[[], str | bytes], content_type: str | None = None) -> Callable[..., HttpResponse]:
    """Return the view of a page or file that is the same for all readers."""
    return require_safe(lambda _request: public(content(), content_type))


reference = published(reference_pages.page)
countries = published(countries_page.page)
changelog = published(changelog_page.page)
keys = published(published_key, _TEXT)
verify_py = published(VERIFY.read_bytes, _TEXT)
# Some programs request the icon at the root.
favicon = published(FAVICON.read_bytes, "image/x-icon")


@require_safe
def guide(request: HttpRequest) -> HttpResponse:
    """The guide."""
    return public(guide_page.page(_base_url(request)), shared=False)


@require_safe
def go_live(request: HttpRequest) -> HttpResponse:
    """Thirteen steps in the sandbox, from an API key to the go-live checklist."""
    return public(go_live_page.page(_base_url(request)), shared=False)


@require_safe
def reference_page(request: HttpRequest, name: str) -> HttpResponse:
    """A page of the reference by the last part of its path."""
    if name not in reference_pages.names():
        return not_found(request)
    return public(reference_pages.page(name))


@require_safe
def markdown(request: HttpRequest, name: str) -> HttpResponse:
    """A page as Markdown. name: its path without /docs/ and .md."""
    page = next((one for one in site.pages() if one.markdown_path == f"/docs/{name}.md"), None)
    if page is None:
        return not_found(request)
    base_url = _base_url(request) if page.shows_address else ""
    return public(site.as_markdown(page, base_url), _MARKDOWN, shared=not page.shows_address)


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """The sections of the docs that match the query `q`."""
    query = request.GET.get("q", "")[: search_page.MAX_QUERY_LENGTH].strip()
    context = {"here": "search", "query": query, "results": search_page.search(query)}
    return HttpResponse(render_to_string("docs/search.html", context))


@require_safe
def postman_page(request: HttpRequest) -> HttpResponse:
    """How to use the API with Postman."""
    return public(postman.page(_base_url(request)), shared=False)


@require_safe
def llms_txt(request: HttpRequest) -> HttpResponse:
    """An overview of the docs for language models (llmstxt.org)."""
    base_url = _base_url(request)
    context = {"base_url": base_url, "pages": site.pages(), "clients": example_files.clients()}
    return public(render_to_string("docs/llms.txt", context), _TEXT, shared=False)


@require_safe
def example(request: HttpRequest, name: str) -> HttpResponse:
    """A file of docs/examples or of its snippets, as text."""
    path = example_files.files().get(name)
    if path is None:
        return not_found(request)
    return public(path.read_bytes(), _TEXT, disposition=f'inline; filename="{name}"')


def not_found(_request: HttpRequest) -> HttpResponse:
    """The docs' own 404 page."""
    return HttpResponse(render_to_string("docs/not_found.html"), status=404)
