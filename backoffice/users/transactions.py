"""The admin of conversions and documents: read-only lists, and downloads of files."""

import re
import uuid
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
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
from unfold.contrib.filters.admin import RelatedDropdownFilter

from backoffice.access import record_access
from backoffice.exports.downloads import too_many_downloads
from backoffice.lists.cells import badge, column, moment, user_link
from backoffice.lists.filters import ChoiceFilter, Conditions, SinceFilter, UntilFilter, ValueFilter
from backoffice.users.filters import ModeFilter, mode_of
from backoffice.users.history_admin import TWO_LINES, UserRowAdmin
from core.streaming import STAFF, TooManyStreamsError
from partners.models import Partner
from transactions.documents.downloads import DocumentError, record_download, respond
from transactions.models import CURRENCY_PATTERN, Conversion, Document
from transactions.risk_flags import InactiveConversion, Threshold
from users.decisions.reasons import NOTES_PERMISSION
from users.models import AccessKind, Status
from users.models.case import in_mode

# Partners may give different conversions the same conversionId.
MAX_EXACT_MATCHES = 100
# Conversions of a side that an amount finds by its index.
MAX_OF_AMOUNT = 1_000
# As the list writes it.
_AMOUNT = re.compile(rf"([0-9]{{1,30}}(?:\.[0-9]{{1,30}})?)(?: +({CURRENCY_PATTERN}))?")
MAY_DOWNLOAD = "transactions.download_document"


class AmountFilter(ValueFilter):
    """By the least amount of either side, in CAD if there is no currency. Of many the newest rows are examined."""

    title, parameter_name = _("least amount, such as 9000 or 9000.50 USD"), "least"
    is_indexed = True

    def matching(self, request: HttpRequest, value: str) -> Q:
        """Raises IncorrectLookupParameters."""
        if not (match := _AMOUNT.fullmatch(value.upper())):
            raise IncorrectLookupParameters
        least, currency = Decimal(match[1]), match[2] or "CAD"
        either, found = Q(), set[int]()
        for side in ("from", "to"):
            of_side = Q(**{f"{side}_currency": currency, f"{side}_amount__gte": least})
            rows = in_mode(Conversion.objects.filter(of_side), mode_of(request)).order_by(f"{side}_amount")
            ids = rows.values_list("pk", flat=True)[: MAX_OF_AMOUNT + 1]
            either, found = either | of_side, found | {*ids}
            self.is_indexed = self.is_indexed and len(ids) <= MAX_OF_AMOUNT
        return Q(pk__in=found) if self.is_indexed else either


class ConversionFlagFilter(ChoiceFilter):
    """By the risk flags that are about a conversion; partial indexes have the few."""

    title, parameter_name, is_indexed = _("risk flags"), "flags", True

    def conditions(self, request: HttpRequest) -> Conditions:
        return {kind.code: (kind.title, kind.about) for kind in (InactiveConversion, Threshold)}


_FILTERS = (SinceFilter, UntilFilter)
_MORE_FILTERS = (("partner", RelatedDropdownFilter), ModeFilter)


@admin.register(Conversion)
class ConversionAdmin(UserRowAdmin):
    """Conversions, with the digits as recorded."""

    list_display = ("conversion_id", "created_at", "user_and_flag", "sent", "received_at_rate")
    list_filter = (*_FILTERS, AmountFilter, ConversionFlagFilter, *_MORE_FILTERS)
    search_fields = ("conversion_id",)
    search_help_text = _("A conversion ID in full, or what finds a user")
    fields = (
        *("conversion_id", "partner", "of_user", "created_at", "type", "sent", "received", "exact_rate"),
        *("recorded_at", "user_then", "reaches_threshold"),
    )

    sent = column(_("from"), lambda one: f"{one.from_amount:f} {one.from_currency}")
    received = column(_("to"), lambda one: f"{one.to_amount:f} {one.to_currency}")
    exact_rate = column(_("rate"), lambda one: f"{one.rate:f}")

    def matching(self, request: HttpRequest, term: str) -> Q:
        """By conversionId in full, whose index begins with the partner, or else by what finds users."""
        partners = in_mode(Partner.objects.order_by(), mode_of(request)).values("pk")
        matches = Conversion.objects.filter(partner__in=partners, conversion_id=term)
        found = list(matches.order_by().values_list("pk", flat=True)[:MAX_EXACT_MATCHES])
        return Q(pk__in=found) if found else super().matching(request, term)

    @admin.display(description=_("to, rate"))
    def received_at_rate(self, conversion: Conversion) -> str:
        return format_html(TWO_LINES, self.received(conversion), self.exact_rate(conversion))

    @admin.display(description=_("user"))
    def user_and_flag(self, conversion: Conversion) -> str:
        """The user, and what a risk flag is about."""
        note = badge(_("Not active when recorded"), "warning") if conversion.while_inactive else ""
        return format_html("{} {}", user_link(conversion.user), note)

    @admin.display(description=_("user when recorded"))
    def user_then(self, conversion: Conversion) -> Any:
        """What a risk flag is about."""
        return badge(_("Not active"), "warning") if conversion.while_inactive else Status.ACTIVE.label


@admin.register(Document)
class DocumentAdmin(UserRowAdmin):
    """Documents; the audit log has their downloads."""

    list_display = ("document_id", "created_at", "of_user", "type", "title", "size", "withdrawn")
    list_filter = (*_FILTERS, *_MORE_FILTERS)
    list_select_related = ("user__partner", "withdrawal__by")
    search_fields = ("document_id",)
    search_help_text = _("A document ID in full, or what finds a user")
    audited_by = "document_id"
    fields = (
        *("document_id", "partner", "of_user", "created_at", "type", "title", "content_type", "size_bytes", "digest"),
        *("recorded_at", "withdrawal_shown", "withdrawal_reason", "file"),
    )
    guarded_fields: ClassVar[Mapping[Any, str]] = {"file": MAY_DOWNLOAD, "withdrawal_reason": NOTES_PERMISSION}

    size = column(_("size"), lambda document: filesizeformat(document.size_bytes))
    digest = column("SHA-256", lambda document: bytes(document.sha256).hex())
    withdrawal_reason = column(
        _("Withdrawal reason"), lambda document: document.withdrawal.reason if hasattr(document, "withdrawal") else "–"
    )
    withdrawn = column(_("withdrawn"), lambda document: hasattr(document, "withdrawal"), boolean=True)

    def matching(self, request: HttpRequest, term: str) -> Q:
        """By documentId in full, or else by what finds users."""
        with suppress(ValueError):
            found = Document.objects.filter(document_id=uuid.UUID(term))
            if found.exists():
                return Q(pk__in=found.values("pk"))
        return super().matching(request, term)

    @admin.display(description=_("file"))
    def file(self, document: Document) -> str:
        url = reverse("admin:transactions_document_file", args=(document.pk,))
        return format_html('<a class="bo-link" href="{}">{}</a>', url, _("Download"))

    @admin.display(description=_("withdrawn"))
    def withdrawal_shown(self, document: Document) -> str:
        """When and by whom: the partner can neither list nor download it."""
        one = getattr(document, "withdrawal", None)
        return format_html("{} · {}", moment(one.created_at), one.by.get_username()) if one else "–"

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
            response = respond(document, owner=STAFF, request_id=record.request_id)
        except TooManyStreamsError:
            return too_many_downloads(request)
        except DocumentError as error:
            messages.error(request, _("This document could not be sent: %s.") % error.problem.label)
            return self.redirect_to(document)
        record_download(document, by={"staff": record.staff.get_username(), "requestId": record.request_id})
        return response
