"""The docs' pages and files."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from partners.docs import openapi

DOCS_PATHS = ("/docs", "/openapi.json")


def is_docs_path(path: str) -> bool:
    """Whether a request's path belongs to the docs."""
    return path in DOCS_PATHS or path.startswith("/docs/")


@require_safe
def openapi_json(request: HttpRequest) -> HttpResponse:
    """The description of the API (OpenAPI 3.1)."""
    return HttpResponse(openapi.document_bytes(), content_type="application/json")


def guide(request: HttpRequest) -> HttpResponse:
    raise NotImplementedError


reference = doctor = signing_vectors = guide


def example(request: HttpRequest, name: str) -> HttpResponse:
    raise NotImplementedError
