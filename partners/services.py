"""What staff and ops do with partners, and what they see of them and their keys."""

from collections.abc import Iterator

from django.conf import settings
from django.db import transaction
from django.db.models import Case, CharField, Count, Q, Value, When
from django.db.models.functions import Now

from partners.models import ApiKey, Partner


def change_partner(*, partner: Partner, rate_limit: str | None = None, enabled: bool | None = None) -> Partner:
    """Changes what is given; the partner as it is then. It holds from the next request on.

    rate_limit: such as 600/minute; empty for the service's default (contract, section 5).
    enabled: a disabled partner is `unauthorized` (contract, section 3).
    Raises Django's ValidationError; nothing has changed then.
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
    """The partner's own rate limit, or the service's default."""
    return partner.rate_limit or settings.PARTNER_RATE_LIMIT


def partners_with_keys() -> Iterator[tuple[Partner, int]]:
    """All partners by slug, each with the number of its keys in force: neither revoked nor expired."""
    in_force = Q(api_keys__revoked_at=None) & (Q(api_keys__expires_at=None) | Q(api_keys__expires_at__gt=Now()))
    for partner in Partner.objects.annotate(in_force=Count("api_keys", filter=in_force)).order_by("slug"):
        yield partner, partner.in_force


def keys_with_state(partner: Partner) -> Iterator[tuple[ApiKey, str]]:
    """A partner's keys, newest first, each with its state: active, expired or revoked, by the database's clock."""
    state = Case(
        When(revoked_at__isnull=False, then=Value("revoked")),
        When(expires_at__lte=Now(), then=Value("expired")),
        default=Value("active"),
        output_field=CharField(),
    )
    # Neither the digest nor the secret leaves the database.
    shown = partner.api_keys.annotate(state=state).defer("digest", "encrypted_secret")
    for key in shown.order_by("-created_at", "-id"):
        yield key, key.state
