"""The bands on the pages of sandbox users, and of their partners (contract, section 11), and of held users."""

from typing import Any
from uuid import UUID

from django import template
from django.utils.translation import gettext as _

from partners.models import ApiKey, Partner, WebhookDelivery, WebhookEndpoint
from users.models import Hold, User, UserEvent
from users.records.holds import in_force

register = template.Library()


@register.inclusion_tag("backoffice/sandbox_band.html")
def sandbox_band(row: Any) -> dict[str, Any]:
    """Say that a row belongs to a sandbox partner; nothing for other rows. row: also a user, or none."""
    if not _is_sandbox(row):
        return {"text": ""}
    is_partners = isinstance(row, (Partner, ApiKey, WebhookEndpoint, WebhookDelivery))
    return {
        "text": _("Sandbox: the users of this partner are not real.")
        if is_partners
        else _("Sandbox: this user is not real.")
    }


@register.inclusion_tag("backoffice/held_band.html")
def held_band(row: Any) -> dict[str, Any]:
    """Say that the records of the user of a row are held; nothing for other rows. row: also a user, or none."""
    user_id = row.pk if isinstance(row, User) else row.pgh_obj_id if isinstance(row, UserEvent) else None
    user_id = user_id or getattr(row, "user_id", None)
    return {"is_held": isinstance(user_id, UUID) and in_force(Hold.objects.filter(user=user_id)).exists()}


def _is_sandbox(row: Any) -> bool:
    """Whether a row is sandbox, or its user, partner or webhook."""
    if (known := getattr(row, "is_sandbox", None)) is not None:
        return bool(known)
    owner = next((owner for name in ("user", "partner", "endpoint") if (owner := getattr(row, name, None))), None)
    return owner is not None and _is_sandbox(owner)
