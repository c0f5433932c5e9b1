"""allauth's forms, with what they leave open."""

import re
from typing import Any

from allauth.mfa import app_settings
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base import forms as base
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import AddWebAuthnForm
from django.core.cache import cache


class _CodeOnce:
    """A code lets in once, for as long as it could be given again.

    allauth remembers a used code for one period; with a tolerance of a period before and after it
    passes for three.
    """

    user: Any
    authenticator: Authenticator
    fields: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Recovery codes are digits too.
        self.fields["code"].widget.attrs |= {"inputmode": "numeric", "autofocus": True}

    def clean_code(self) -> str:
        """The code. Raises ValidationError where it is wrong or was used before."""
        code: str = super().clean_code()  # type: ignore[misc]
        if self.authenticator.type == Authenticator.Type.TOTP:
            seconds = app_settings.TOTP_PERIOD * (2 * app_settings.TOTP_TOLERANCE + 1)
            # As allauth compares it: `123-456` is `123456`.
            digits = re.sub(r"\D", "", code)
            if not cache.add(f"staff_login.used-code:{self.user.pk}:{digits}", "1", timeout=seconds):
                raise get_adapter().validation_error("incorrect_code")
        return code


class AuthenticateForm(_CodeOnce, base.AuthenticateForm):  # type: ignore[misc]
    """A code, at login."""


class ReauthenticateForm(_CodeOnce, base.ReauthenticateForm):  # type: ignore[misc]
    """A code, of somebody who is in."""


class AddPasskeyForm(AddWebAuthnForm):  # type: ignore[misc]
    """A passkey or security key; one that logs in without a password, unless the person says otherwise."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("initial", {}).setdefault("passwordless", True)
        super().__init__(*args, **kwargs)
