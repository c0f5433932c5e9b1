"""A change of a partner, as ops make it."""

from django.db import transaction

from partners.models import Partner


def change_partner(*, partner: Partner, rate_limit: str | None = None, enabled: bool | None = None) -> Partner:
    """Change a partner from its next request on (contract, sections 3 and 5). Raises Django's ValidationError.

    rate_limit: such as 600/minute; empty for the service's default. None leaves a value as it is.
    """
    with transaction.atomic():
        changed = Partner.objects.select_for_update(no_key=True).get(pk=partner.pk)
        if rate_limit is not None:
            changed.rate_limit = rate_limit
        if enabled is not None:
            changed.enabled = enabled
        changed.clean_fields()
        changed.save(update_fields=["rate_limit", "enabled"])
    return changed
