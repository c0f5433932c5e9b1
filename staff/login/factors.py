"""Second factors: enrolment, their verification in a session, and the re-encryption of their secrets."""

from allauth.account.authentication import get_authentication_records
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import QuerySet
from django.http import HttpRequest

from core import encryption
from core.encryption import EncryptedColumn
from staff.login.allauth_internals import record_factor

# Recovery codes replace one of these, but are not a factor by themselves.
FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)

_METHOD = "mfa"
# allauth's, of a sign-in by the company's provider.
_SIGNED_IN_BY_PROVIDER = "socialaccount"
# The type of one that the company's provider has verified (staff/oidc).
_OF_PROVIDER = "oidc"


def has_factor(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether the person has enrolled a second factor."""
    return bool(Authenticator.objects.filter(user_id=user.pk, type__in=FACTORS).exists())


def is_last(authenticator: Authenticator) -> bool:
    """Whether this is the person's only second factor."""
    others = Authenticator.objects.filter(user_id=authenticator.user_id, type__in=FACTORS)
    return not others.exclude(pk=authenticator.pk).exists()


def verified_at(request: HttpRequest) -> float | None:
    """The Unix time of the session's last verification of a second factor, or None. Passwords do not count."""
    records = get_authentication_records(request, request.user)
    return max((float(record["at"]) for record in records if record.get("method") == _METHOD), default=None)


def record_enrolment(request: HttpRequest, kind: Authenticator.Type) -> None:
    """Count enrolment as verification: a code or a touch of the key has just been verified."""
    record_factor(request, request.user, _METHOD, type=kind.value)


def record_of_provider(request: HttpRequest, user: AbstractBaseUser) -> None:
    """Record that the company's provider has just verified a second factor."""
    record_factor(request, user, _METHOD, type=_OF_PROVIDER)


def began_by_provider(request: HttpRequest) -> bool:
    """Whether the session began with a sign-in by the company's provider."""
    records = get_authentication_records(request, request.user)
    return any(record.get("method") == _SIGNED_IN_BY_PROVIDER for record in records)


def verification_page(request: HttpRequest) -> str:
    """The URL name of the page that asks for a second factor: of the kind that the session has, the provider's or ours.

    The page for codes accepts recovery codes too, which somebody with only a passkey should not use up.
    """
    user = request.user
    if any(record.get("type") == _OF_PROVIDER for record in get_authentication_records(request, user)):
        return "staff_oidc_confirm"
    has_codes = Authenticator.objects.filter(user_id=user.pk, type=Authenticator.Type.TOTP).exists()
    return "mfa_reauthenticate" if has_codes else "mfa_reauthenticate_webauthn"


# The encrypted entry of Authenticator.data; a passkey has none.
_ENCRYPTED = {Authenticator.Type.TOTP: "secret", Authenticator.Type.RECOVERY_CODES: "seed"}


def _rows() -> QuerySet[Authenticator]:
    # Using a recovery code locks the row too, so that none becomes unused again.
    factors: QuerySet[Authenticator] = Authenticator.objects.filter(type__in=_ENCRYPTED).select_related("user")
    return factors


def _write(factor: Authenticator, text: str) -> None:
    factor.data[_ENCRYPTED[factor.type]] = text
    factor.save(update_fields=["data"])


SECOND_FACTORS = EncryptedColumn(
    "secondFactors",
    "Second factors",
    encryption.SECOND_FACTORS,
    rows=_rows,
    read=lambda factor: factor.data[_ENCRYPTED[factor.type]],
    write=_write,
    label=lambda factor: f"{factor.get_type_display()} of {factor.user.get_username()}",
)
