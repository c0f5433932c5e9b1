"""Second factors under the newest encryption key: what partners/authentication/reencryption.py has to know of them."""

from collections.abc import Callable, Sequence

from allauth.mfa.models import Authenticator

from partners.authentication import encryption
from partners.authentication.reencryption import Row, Store

# Where allauth keeps what MFAAdapter encrypted; a passkey has nothing to hide.
_ENCRYPTED = {Authenticator.Type.TOTP: "secret", Authenticator.Type.RECOVERY_CODES: "seed"}


def _rows(after: int, limit: int, lock: bool) -> Sequence[Row]:  # noqa: FBT001 - as Store has it
    factors = Authenticator.objects.filter(pk__gt=after, type__in=_ENCRYPTED).order_by("pk").select_related("user")
    if lock:
        # Using up a recovery code locks the row too, so none becomes unused again.
        factors = factors.select_for_update(no_key=True, of=("self",))
    return [_row(factor) for factor in factors[:limit]]


def _row(factor: Authenticator) -> Row:
    name = f"{factor.get_type_display()} of {factor.user.get_username()}"
    return Row(factor.pk, name, [factor.data[_ENCRYPTED[factor.type]]], _writer_of(factor))


def _writer_of(factor: Authenticator) -> Callable[[Sequence[str]], None]:
    def write(texts: Sequence[str]) -> None:
        factor.data[_ENCRYPTED[factor.type]] = texts[0]
        factor.save(update_fields=["data"])

    return write


SECOND_FACTORS = Store("secondFactors", "Second factors", encryption.SECOND_FACTORS, _rows)
