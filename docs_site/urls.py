"""What Django serves of the documentation; before it, WhiteNoise serves what `make docs` writes (WHITENOISE_ROOT)."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import path, re_path
from django.views.decorators.http import require_safe

from core.encryption import published


@require_safe
def keys(_request: HttpRequest) -> HttpResponse:
    """The public key that verifies evidence packs."""
    return HttpResponse(published(), "text/plain; charset=utf-8", headers={"Cache-Control": "public, max-age=300"})


def not_found(_request: HttpRequest) -> HttpResponse:
    """The pages' own 404 page."""
    page = settings.WHITENOISE_ROOT / "docs" / "404" / "index.html"
    text = page.read_text() if page.exists() else "The pages are not built: make docs.\n"
    return HttpResponse(text, status=404, headers={"Cache-Control": "no-store"})


# A prefix, because `.` does not match a line feed.
urlpatterns = [path("docs/keys", keys), re_path(r"^docs(?:/|\Z)", not_found)]
