"""The admin of conversions and documents: read-only lists, and downloads of files."""

import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern, path, reverse
from django.utils.formats import get_format
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET
from unfold.contrib.filters.admin import RelatedDropdownFilter, TextFilter
from unfold.widgets import UnfoldAdminTextInputWidget

from backoffice.access import record_access
from backoffice.exports.downloads import too_many_downloads
from backoffice.lists.cells import badge, column, moment, user_link
from backoffice.lists.filters import ChoiceFilter, Conditions, SinceFilter, UntilFilter
from backoffice.users.filters import ModeFilter, mode_of
from backoffice.users.history_admin import TWO_LINES, UserRowAdmin
from core.streaming import STAFF, TooManyStreamsError
from partners.models import Mode, Partner
from transactions.documents.downloads import DocumentError, record_download, respond
from transactions.models import CURRENCY_PATTERN, NUMBER_LIMIT, Conversion, Document
from transactions.risk_flags import InactiveConversion, Threshold
from users.models import AccessKind, Status
from users.models.case import in_mode

# Partners may give different conversions the same conversionId.
MAX_EXACT_MATCHES = 100
# Conversions of a side that an amount finds by the index.
MAX_OF_AMOUNT = 1_000
SIDES = ("from", "to")
MAY_DOWNLOAD = "transactions.download_document"


class AmountForm(forms.Form):
    """A range of amounts in a currency. Both limits belong to it."""

    currency = forms.RegexField(
        f"^{CURRENCY_PATTERN}$",
        required=False,
        empty_value="CAD",
        label=_("currency of the amount (CAD if empty)"),
    )
    least = forms.DecimalField(required=False, localize=True, max_value=NUMBER_LIMIT, label=_("amount from"))
    most = forms.DecimalField(required=False, localize=True, max_value=NUMBER_LIMIT, label=_("amount to"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget = UnfoldAdminTextInputWidget()


class AmountFilter(TextFilter):  # type: ignore[misc]
    """By the amount of either side. The indexes of amounts find few; of many the newest rows are examined."""

    title, parameter_name = _("amount"), "currency"
    parameter_names = ("currency", "least", "most")

    def __init__(self, request: HttpRequest, params: dict[str, Any], *args: Any) -> None:
        # Digits in groups, as the reader's language writes them: 10,000 or 10 000.
        group = get_format("THOUSAND_SEPARATOR")
        texts = {name: request.GET.get(name, "").replace(group, "").upper() for name in self.parameter_names}
        given = {name: "".join(text.split()) for name, text in texts.items()}
        super().__init__(request, params, *args)
        for name in self.parameter_names:
            params.pop(name, None)
        self.form, self.is_given = AmountForm(given), any(given.values())
        self.is_indexed = False

    def expected_parameters(self) -> list[str | None]:
        return [*self.parameter_names]

    def choices(self, changelist: Any) -> Iterator[dict[str, Any]]:
        yield {"form": self.form}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Those in the range. Raises IncorrectLookupParameters."""
        if not self.is_given:
            return queryset
        if not self.form.is_valid():
            raise IncorrectLookupParameters(self.form.errors)
        found = self._few(mode_of(request))
        self.is_indexed = found is not None
        return queryset.filter(Q(*map(self._of, SIDES), _connector=Q.OR) if found is None else Q(pk__in=found))

    def _few(self, mode: Mode) -> set[int] | None:
        """The ids of all that are in the range; None where a side has more than MAX_OF_AMOUNT."""
        rows = in_mode(Conversion.objects.order_by(), mode)
        sides = [
            rows.filter(self._of(side)).order_by(f"{side}_amount").values_list("pk", flat=True)[: MAX_OF_AMOUNT + 1]
            for side in SIDES
        ]
        return None if any(len(side) > MAX_OF_AMOUNT for side in sides) else {pk for side in sides for pk in side}

    def _of(self, side: str) -> Q:
        wanted = self.form.cleaned_data
        limits = {f"{side}_amount__gte": wanted["least"], f"{side}_amount__lte": wanted["most"]}
        return Q(
            **{f"{side}_currency": wanted["currency"]},
            **{lookup: limit for lookup, limit in limits.items() if limit is not None},
        )


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
        *("document_id", "partner", "of_user", "created_at"),
        *("type", "title", "content_type", "size_bytes", "digest", "recorded_at", "withdrawal_shown", "file"),
    )

    size = column(_("size"), lambda document: filesizeformat(document.size_bytes))
    digest = column("SHA-256", lambda document: bytes(document.sha256).hex())
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

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Without the file for those who may not download it."""
        return [name for name in self.fields if name != "file" or request.user.has_perm(MAY_DOWNLOAD)]

    @admin.display(description=_("withdrawn"))
    def withdrawal_shown(self, document: Document) -> str:
        """When, by whom and why: the partner can neither list nor download it."""
        one = getattr(document, "withdrawal", None)
        return format_html("{} · {}: {}", moment(one.created_at), one.by.get_username(), one.reason) if one else "–"

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
