"""allauth's adapters: no sign-up, no mail, second factors as staff/login/middleware.py requires them."""

from typing import Any, TypeGuard

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context, ratelimit
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from core import encryption
from staff.login import factors
from staff.login.sign_ins import LIMIT, record_refusal
from staff.models import Staff

# The code of allauth's error after too many attempts.
LOCKED_OUT = "too_many_login_attempts"
_FACTOR_STAGE = "allauth.mfa.stages.AuthenticateStage"
# The request of a login whose second factor the provider has verified has this attribute.
_HAS_FACTOR = "staff_login_has_factor"
# The session has the hash of the password with which a login began.
_BEGAN_WITH = "staff_login.began_with"
# These names of ACCOUNT_RATE_LIMITS count without the account and address that allauth counts for.
_WIDE_LIMITS = ("login_failed_at_address", "login_failed_of_account")


def is_active_staff(user: object) -> TypeGuard[Staff]:
    """Whether this is an active staff account."""
    return isinstance(user, Staff) and user.is_active and user.is_staff


def may_use_password(staff: Staff) -> bool:
    """Whether the account signs in with its own password or passkey; with STAFF_PASSWORD_LOGIN=false few do."""
    return settings.STAFF_PASSWORD_LOGIN or staff.is_emergency


def _name(credentials: dict[str, Any]) -> str:
    return str(credentials.get("username", "")).lower()


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Staff accounts, which only administrators and `create_staff` create."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """False. There are no pages for it either."""
        return False

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Staff | None:
        """The active staff account with these credentials. Other accounts are refused like a wrong password."""
        user = super().authenticate(request, **credentials)
        if user is None or (is_active_staff(user) and may_use_password(user)):
            return user
        record_refusal(request, "passwordLogin" if is_active_staff(user) else "account", _name(credentials))
        return None

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Raises ValidationError after too many failed logins (ACCOUNT_RATE_LIMITS)."""
        name = _name(credentials)
        try:
            if not all(ratelimit.consume(request, action=one, key=name, dry_run=True) for one in _WIDE_LIMITS):
                raise self.validation_error(LOCKED_OUT)
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            record_refusal(request, LIMIT, name)
            raise

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        """Count and record it."""
        for action in _WIDE_LIMITS:
            ratelimit.consume(request, action=action, key=_name(credentials))
        record_refusal(request, "password", _name(credentials))

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """The account and the address: by account alone, anybody could lock it. allauth's default adds the Host."""
        return f"{_name(credentials)} {self.get_client_ip(request)}"

    def pre_login(self, request: HttpRequest, user: AbstractBaseUser, **kwargs: Any) -> HttpResponse | None:
        """Refuse who is not active staff, or has to use the provider, whose second factor is this login's."""
        by_provider = (kwargs.get("signal_kwargs") or {}).get("sociallogin")
        if is_active_staff(user) and (by_provider is not None or may_use_password(user)):
            if by_provider is not None and by_provider.has_second_factor:
                factors.record(request, user, factors.OF_PROVIDER)
                setattr(request, _HAS_FACTOR, True)
            request.session[_BEGAN_WITH] = user.get_session_auth_hash()
            return None
        text = _("This account has no access to the back office.")
        return _refuse(request, user, "passwordLogin" if is_active_staff(user) else "account", text)

    def login(self, request: HttpRequest, user: AbstractBaseUser) -> None:
        """Log in. Raises ImmediateHttpResponse where the account was disabled or got another password meanwhile."""
        if not is_active_staff(user) or request.session.pop(_BEGAN_WITH, "") != user.get_session_auth_hash():
            cause, text = (
                "password" if is_active_staff(user) else "account",
                _("Your session has ended. Sign in again."),
            )
            raise ImmediateHttpResponse(_refuse(request, user, cause, text))
        super().login(request, user)

    def get_login_stages(self) -> list[str]:
        """Without our second factor, where the provider has verified one."""
        stages: list[str] = super().get_login_stages()
        return [one for one in stages if not (getattr(self.request, _HAS_FACTOR, False) and one == _FACTOR_STAGE)]

    def clean_password(self, password: str, user: AbstractBaseUser | None = None) -> str:
        """Apply AUTH_PASSWORD_VALIDATORS, and refuse the present password. Raises ValidationError."""
        cleaned: str = super().clean_password(password, user=user)
        if user is not None and user.check_password(cleaned):
            raise self.validation_error("same_as_current")
        return cleaned

    def set_password(self, user: Staff, password: str) -> None:
        """Store a password that the person has chosen."""
        user.change_password(password, is_one_time=False)

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        """The back office."""
        return reverse("admin:index")

    def get_reauthentication_methods(self, user: AbstractBaseUser | AnonymousUser) -> list[dict[str, Any]]:
        """The person's second factors; never the password."""
        kinds = set(Authenticator.objects.filter(user_id=user.pk).values_list("type", flat=True))
        methods = {}
        if kinds & {Authenticator.Type.TOTP, Authenticator.Type.RECOVERY_CODES}:
            methods["mfa_reauthenticate"] = _("Use a code")
        if Authenticator.Type.WEBAUTHN in kinds:
            methods["mfa_reauthenticate_webauthn"] = _("Use a passkey or security key")
        return [{"id": name, "description": text, "url": reverse(name)} for name, text in methods.items()]


def _refuse(request: HttpRequest, user: AbstractBaseUser, cause: str, text: str) -> HttpResponse:
    record_refusal(request, cause, user.get_username())
    request.session.flush()
    messages.error(request, text)
    return redirect("account_login")


class MFAAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Second factors: their secrets are encrypted, and the last one cannot be removed."""

    def get_totp_issuer(self) -> str:
        """The service and its host, so that an app tells production from staging. A colon would end the issuer."""
        host = context.request.get_host().replace(":", " ")
        return f"{super().get_totp_issuer()} ({host})"

    def encrypt(self, text: str) -> str:
        """Encrypt a TOTP secret or the seed of recovery codes."""
        return encryption.encrypt(text, purpose=encryption.SECOND_FACTORS)

    def decrypt(self, encrypted_text: str) -> str:
        """Decrypt a stored secret. Raises InvalidToken where its encryption key has been retired."""
        return encryption.decrypt(encrypted_text, purpose=encryption.SECOND_FACTORS)

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        """Whether it is not the last one; `reset_staff_mfa` is for a lost one."""
        owned = Authenticator.objects.filter(user_id=authenticator.user_id, type__in=factors.FACTORS)
        return not settings.STAFF_MFA_REQUIRED or owned.exclude(pk=authenticator.pk).exists()

    def generate_authenticator_name(self, user: AbstractBaseUser, type: Authenticator.Type) -> str:  # noqa: A002
        """The default name of a passkey."""
        number = Authenticator.objects.filter(user_id=user.pk, type=type).count() + 1
        return _("Passkey %(number)d") % {"number": number}
