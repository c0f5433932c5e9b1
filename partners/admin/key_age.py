"""How old keys are, whether they are in force, and which should have been rotated by now."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Count, Min, QuerySet
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from partners.admin import key_forms
from partners.admin.date_formatting import moment
from partners.models import ApiKey, Partner, in_force

# After so long a key should have been rotated: it has been in too many hands and too many backups.
OLD = timedelta(days=180)
TOO_OLD = _("over 180 days")
# An expiry that should not come as a surprise.
SOON = timedelta(days=14)


def is_old(key: ApiKey) -> bool:
    """Whether the key passes and has done so for longer than it should."""
    return key_forms.is_in_force(key) and timezone.now() - key.created_at > OLD


@admin.display(description=_("state"))
def state(key: ApiKey) -> Any:
    """Whether requests with this key pass."""
    if key.revoked_at is not None:
        return badge(_("revoked"), "off")
    if not key_forms.is_in_force(key):
        return badge(_("expired"), "off")
    return badge(_("active"), "good") if key.partner.enabled else badge(_("partner disabled"), "off")


@admin.display(description=_("age"))
def age(key: ApiKey) -> Any:
    """For how long the key has existed, and a warning where that is too long."""
    days = (timezone.now() - key.created_at).days
    text = ngettext("%(days)d day", "%(days)d days", days) % {"days": days} if days else _("today")
    return format_html("{} {}", text, badge(TOO_OLD, "warning")) if is_old(key) else text


@admin.display(description=_("expires at"))
def expiry(key: ApiKey) -> Any:
    """When the key ends by itself, and a warning where that is soon."""
    if key.expires_at is None:
        return _("never")
    text = moment(key.expires_at)
    ends_soon = key_forms.is_in_force(key) and key.expires_at - timezone.now() < SOON
    return format_html("{} {}", text, badge(_("soon"), "warning")) if ends_soon else text


def with_keys(partners: QuerySet[Partner]) -> QuerySet[Partner]:
    """Partners with how many of their keys are in force, and since when the oldest of these exists."""
    condition = in_force("api_keys__")
    return partners.annotate(
        keys_in_force=Count("api_keys", filter=condition), oldest_key=Min("api_keys__created_at", filter=condition)
    )


@admin.display(description=_("keys in force"))
def keys_in_force(partner: Any) -> Any:
    """How many keys the partner may use, and a warning where one of them is old."""
    if not partner.keys_in_force:
        return badge(_("none"), "off")
    if timezone.now() - partner.oldest_key > OLD:
        return format_html("{} {}", partner.keys_in_force, badge(TOO_OLD, "warning"))
    return partner.keys_in_force


def badge(text: Any, kind: str) -> str:
    """A word that stands out. kind: good, warning, bad or off; the word alone says it too."""
    return format_html('<span class="bo-badge bo-{}">{}</span>', kind, text)
