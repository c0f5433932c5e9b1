"""Second factors: who has one, and when this session's person gave theirs."""

from allauth.account.authentication import get_authentication_records
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest

from users.staff_login.allauth_internals import record_factor

# Recovery codes stand in for one of these; alone they are none.
FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)

_METHOD = "mfa"


def has_factor(person: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether the person has enrolled."""
    return bool(Authenticator.objects.filter(user_id=person.pk, type__in=FACTORS).exists())


def is_last(authenticator: Authenticator) -> bool:
    """Whether the person would be without a second factor if this one went."""
    others = Authenticator.objects.filter(user_id=authenticator.user_id, type__in=FACTORS)
    return not others.exclude(pk=authenticator.pk).exists()


def given_at(request: HttpRequest) -> float | None:
    """When this session's person last gave a second factor, in seconds since 1970; None where they did not.

    A password is no factor, though allauth's reauthentication takes it for one.
    """
    records = get_authentication_records(request, request.user)
    return max((float(record["at"]) for record in records if record.get("method") == _METHOD), default=None)


def record_enrolment(request: HttpRequest, kind: Authenticator.Type) -> None:
    """Counts enrolling as giving the factor: a code, or the key's touch, was just checked."""
    record_factor(request, _METHOD, type=kind.value)


def page_to_give_one(person: AbstractBaseUser | AnonymousUser) -> str:
    """The name of the page that asks the person for a factor.

    The page for codes takes recovery codes too; who has nothing but a passkey is not to spend those.
    """
    has_codes = Authenticator.objects.filter(user_id=person.pk, type=Authenticator.Type.TOTP).exists()
    return "mfa_reauthenticate" if has_codes else "mfa_reauthenticate_webauthn"
