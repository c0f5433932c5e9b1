"""A user's documents on the case page and in the evidence pack: what they are, not their files."""

from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from transactions import keyset
from transactions.case_sections.all_rows import all_rows
from transactions.models import Document, DocumentType
from users.backoffice.case.sections import Section
from users.models import User


def _rows(user: User, count: int) -> list[tuple[Any, ...]]:
    """The latest, each with the way to its page."""
    return [
        (one.created_at, DocumentType(one.type).label, _link(one), filesizeformat(one.size_bytes))
        for one in Document.objects.filter(user=user).order_by("-created_at", "-tiebreak")[:count]
    ]


def _link(document: Document) -> str:
    page = reverse("admin:transactions_document_change", args=(document.pk,))
    return format_html('<a class="bo-link" href="{}">{}</a>', page, document.title)


def records(user: User) -> Iterator[dict[str, Any]]:
    """All of a user's documents as the API lists them, newest first."""
    # See transactions/case_sections/conversion_section.py.
    from transactions.api.serializers import DocumentSerializer  # noqa: PLC0415

    owner = keyset.Owner(user.partner_id, user.external_id)
    return map(DocumentSerializer().to_representation, all_rows(partial(keyset.DOCUMENTS.fetch, owner)))


def _all_rows(user: User) -> str:
    return f"{reverse('admin:transactions_document_changelist')}?{urlencode({'user': str(user.pk)})}"


SECTION = Section(
    name="documents",
    title=_("Documents"),
    permission="transactions.view_document",
    headings=(_("when"), _("type"), _("title"), _("size")),
    rows=_rows,
    records=records,
    all_rows=_all_rows,
)
