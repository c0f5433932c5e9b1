"""The roles of staff by name, without models: the settings name roles too (STAFF_OIDC_ROLES)."""

from typing import Any

from django.utils.translation import gettext_lazy as _

# The roles' names for people.
NAMES: dict[str, Any] = {
    "viewer": _("Viewer"),
    "reviewer": _("Reviewer"),
    "auditor": _("Auditor"),
    "partner-manager": _("Partner manager"),
    "administrator": _("Administrator"),
}
