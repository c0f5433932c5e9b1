"""The admin of documents, which are read and downloaded."""

import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from partners.admin.date_formatting import moment
from partners.admin.pages import Table
from partners.streaming import STAFF, TooManyStreamsError
from transactions.admin.user_rows import UserRowsAdmin
from transactions.documents.downloads import FaultError, respond
from transactions.models import Document, FaultCause
from users.backoffice.access import record_access
from users.backoffice.exports.streams import too_many_downloads
from users.models import AccessKind

MAY_DOWNLOAD = "transactions.download_document"
_CONTENT = ("type", "title", "content_type", "size_bytes", "digest")
FIELDS = ("document_id", "partner", "user", "created_at", *_CONTENT, "recorded_at", "file")


@admin.register(Document)
class DocumentAdmin(UserRowsAdmin):
    """Documents."""

    list_display = ("document_id", "created_at", "partner", "external_id", "type", "title", "size")
    search_fields = ("document_id",)
    search_help_text = _("The whole of a documentId.")
    fields = FIELDS

    def matching(self, term: str) -> Q:
        """By documentId."""
        with suppress(ValueError):
            return Q(document_id=uuid.UUID(term))
        return Q(pk__in=())

    @admin.display(description=_("size"))
    def size(self, document: Document) -> str:
        """The size in a readable unit."""
        return filesizeformat(document.size_bytes)

    @admin.display(description="SHA-256")
    def digest(self, document: Document) -> str:
        """The SHA-256 in hex, as in the API."""
        return bytes(document.sha256).hex()

    @admin.display(description=_("file"))
    def file(self, document: Document) -> str:
        """A link to the file."""
        url = reverse("admin:transactions_document_file", args=(document.pk,))
        return format_html('<a class="bo-link" href="{}">{}</a>', url, _("Download"))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Without the file for those who may not download it."""
        return [name for name in FIELDS if name != "file" or request.user.has_perm(MAY_DOWNLOAD)]

    def tables_of(self, request: HttpRequest, obj: Document) -> Iterator[Table]:
        """The causes for which the file could not be sent, if any."""
        faults = obj.faults.order_by("-last_at")
        if rows := [(FaultCause(one.cause).label, one.count, moment(one.last_at)) for one in faults]:
            yield Table(
                title=_("This document could not be sent"),
                headings=(_("cause"), _("times"), _("latest")),
                rows=rows,
                note=_("The download was broken off or refused, so that nobody has received another file."),
            )

    def get_urls(self) -> list[URLPattern]:
        """Django's, and that of the file."""
        wrap = self.admin_site.admin_view
        return [
            path("<int:row_id>/file/", wrap(require_GET(self.download)), name="transactions_document_file"),
            *super().get_urls(),
        ]

    def download(self, request: HttpRequest, row_id: int) -> HttpResponseBase:
        """Send the file as to a partner; recorded in the access log before the first byte."""
        if not (request.user.has_perm(MAY_DOWNLOAD) and self.has_view_permission(request)):
            raise PermissionDenied
        document = get_object_or_404(Document.objects.select_related("user"), pk=row_id)
        record = record_access(
            request, AccessKind.EXPORTED, user=document.user, detail=f"Document {document.document_id}"
        )
        try:
            return respond(document, owner=STAFF, request_id=record.request_id)
        except TooManyStreamsError:
            return too_many_downloads(request)
        except FaultError as fault:
            messages.error(request, f"{_('This document could not be sent')}: {fault.cause.label}.")
            return self.page_of(document)
