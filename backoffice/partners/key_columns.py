"""Columns about API keys: whether they are in force, their age, and their expiry."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, pgettext_lazy

from backoffice.lists.cells import badge, moment
from core.models import AuditEntry
from partners.models import ApiKey

# A key should be rotated by then: by now too many people and backups have had it.
MAX_AGE = timedelta(days=180)
TOO_OLD = _("over 180 days")
EXPIRES_SOON = timedelta(days=14)


def load_revokers(keys: Sequence[ApiKey]) -> None:
    """Attach who revoked those of these keys that are, as the audit log says, in one statement."""
    revoked = {key.prefix: key for key in keys if key.revoked_at is not None}
    for key in revoked.values():
        key.revoked_by = "–"  # type: ignore[attr-defined]  # for the column
    entries = AuditEntry.objects.filter(object__in=revoked, detail__changes__has_key="revoked_at")
    for name, actor in entries.values_list("object", "actor") if revoked else ():
        revoked[name].revoked_by = actor or "–"  # type: ignore[attr-defined]


def _revoker(key: Any) -> str:
    """Who revoked a key; those of a list are loaded at once."""
    if not hasattr(key, "revoked_by"):
        load_revokers([key])
    return str(key.revoked_by)


@admin.display(description=_("state"))
def state(key: ApiKey) -> Any:
    """Whether requests with this key are accepted; of a revoked one when and by whom."""
    if key.revoked_at is not None:
        cell = '{} <span class="bo-quiet bo-below-name">{} · {}</span>'
        return format_html(cell, badge(_("revoked"), "off"), moment(key.revoked_at), _revoker(key))
    if not key.is_in_force:
        return badge(_("expired"), "off")
    return (
        badge(pgettext_lazy("API key", "active"), "good")
        if key.partner.enabled
        else badge(_("partner disabled"), "off")
    )


@admin.display(description=_("age"))
def age(key: ApiKey) -> Any:
    """The age of the key, with a warning where it should have been rotated."""
    days = (timezone.now() - key.created_at).days
    text = ngettext("%(days)d day", "%(days)d days", days) % {"days": days} if days else _("today")
    is_old = key.is_in_force and timezone.now() - key.created_at > MAX_AGE
    return format_html("{} {}", text, badge(TOO_OLD, "warning")) if is_old else text


@admin.display(description=_("expires at"))
def expiry(key: ApiKey) -> Any:
    """When the key expires, with a warning where that is soon."""
    if key.expires_at is None:
        return _("never")
    text = moment(key.expires_at)
    is_soon = key.is_in_force and key.expires_at - timezone.now() < EXPIRES_SOON
    return format_html("{} {}", text, badge(_("soon"), "warning")) if is_soon else text


@admin.display(description=_("keys in force"))
def keys_in_force(partner: Any) -> Any:
    """The number of keys in force, with a warning where one of them is old."""
    if not partner.keys_in_force:
        return badge(_("none"), "off")
    if timezone.now() - partner.oldest_key > MAX_AGE:
        return format_html("{} {}", partner.keys_in_force, badge(TOO_OLD, "warning"))
    return partner.keys_in_force
