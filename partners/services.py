"""Partners and their API keys as ops change and list them."""

from collections.abc import Iterator

from django.conf import settings
from django.db import transaction
from django.db.models import Case, CharField, Value, When

from partners.models import ApiKey, Partner, in_force


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


def effective_rate_limit(partner: Partner) -> str:
    """The partner's rate limit, or the service's default."""
    return partner.rate_limit or settings.PARTNER_RATE_LIMIT


def keys_with_state(partner: Partner) -> Iterator[tuple[ApiKey, str]]:
    """A partner's keys, newest first, each with its state: active, expired or revoked."""
    state = Case(
        When(in_force(), then=Value("active")),
        When(revoked_at=None, then=Value("expired")),
        default=Value("revoked"),
        output_field=CharField(),
    )
    for key in (
        partner.api_keys.annotate(state=state).defer("digest", "encrypted_secret").order_by("-created_at", "-id")
    ):
        yield key, key.state
