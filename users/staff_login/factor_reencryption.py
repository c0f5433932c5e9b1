"""Staff's second factors as a store for partners/authentication/reencryption.py."""

from allauth.mfa.models import Authenticator
from django.db.models import QuerySet

from partners.authentication import encryption
from partners.authentication.reencryption import Store

# The encrypted entry of Authenticator.data; a passkey has none.
_ENCRYPTED = {Authenticator.Type.TOTP: "secret", Authenticator.Type.RECOVERY_CODES: "seed"}


def _rows() -> QuerySet[Authenticator]:
    # Using a recovery code locks the row too, so that none becomes unused again.
    factors: QuerySet[Authenticator] = Authenticator.objects.filter(type__in=_ENCRYPTED).select_related("user")
    return factors


def _write(factor: Authenticator, text: str) -> None:
    factor.data[_ENCRYPTED[factor.type]] = text
    factor.save(update_fields=["data"])


SECOND_FACTORS = Store(
    "secondFactors",
    "Second factors",
    encryption.SECOND_FACTORS,
    rows=_rows,
    read=lambda factor: factor.data[_ENCRYPTED[factor.type]],
    write=_write,
    label=lambda factor: f"{factor.get_type_display()} of {factor.user.get_username()}",
)
