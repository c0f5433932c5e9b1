"""allauth's forms, stricter about codes."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from allauth.core import context
from allauth.mfa import app_settings
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base import forms as base
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn import forms as webauthn
from django.core.cache import cache
from django.core.exceptions import ValidationError

from staff.login.adapters import LOCKED_OUT
from staff.login.sign_ins import LIMIT, record_refusal


@contextmanager
def _recording(user: Any, cause: str) -> Iterator[None]:
    """Record a refused factor. cause: of REFUSALS."""
    try:
        yield
    except ValidationError as error:
        record_refusal(context.request, LIMIT if error.code == LOCKED_OUT else cause, user.get_username())
        raise


class _SingleUseCode:
    """Accepts a code once: allauth remembers it for one period, but with the tolerance it is valid for three."""

    user: Any
    authenticator: Authenticator
    fields: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].widget.attrs |= {"inputmode": "numeric", "autofocus": True}

    def clean_code(self) -> str:
        """The code. Raises ValidationError for a wrong or used one, and after too many (ACCOUNT_RATE_LIMITS)."""
        with _recording(self.user, "code"):
            code: str = super().clean_code()  # type: ignore[misc]
            if self.authenticator.type == Authenticator.Type.TOTP:
                seconds = app_settings.TOTP_PERIOD * (2 * app_settings.TOTP_TOLERANCE + 1)
                # allauth ignores other characters too.
                digits = re.sub(r"\D", "", code)
                if not cache.add(f"staff_login.used-code:{self.user.pk}:{digits}", "1", timeout=seconds):
                    raise get_adapter().validation_error("incorrect_code")
            return code


class AuthenticateForm(_SingleUseCode, base.AuthenticateForm):  # type: ignore[misc]
    """The code at login."""


class ReauthenticateForm(_SingleUseCode, base.ReauthenticateForm):  # type: ignore[misc]
    """The code of a later verification."""


class _RecordedPasskey:
    """Records a passkey that is refused as a second factor."""

    user: Any

    def clean_credential(self) -> Authenticator:
        """The passkey. Raises ValidationError for a wrong one, and after too many (ACCOUNT_RATE_LIMITS)."""
        with _recording(self.user, "passkey"):
            credential: Authenticator = super().clean_credential()  # type: ignore[misc]
            return credential


class AuthenticatePasskeyForm(_RecordedPasskey, webauthn.AuthenticateWebAuthnForm):  # type: ignore[misc]
    """The passkey at login, after the password."""


class ReauthenticatePasskeyForm(_RecordedPasskey, webauthn.ReauthenticateWebAuthnForm):  # type: ignore[misc]
    """The passkey of a later verification."""
