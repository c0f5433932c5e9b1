"""How allauth works here: nobody signs up, nothing is mailed, and our middleware decides about second factors."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from partners.authentication import encryption
from users.models import Staff
from users.staff_login import factors


def may_enter(person: object) -> bool:
    """Whether this is a member of staff whose account is in use."""
    return isinstance(person, Staff) and person.is_active and person.is_staff


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Accounts of staff, made by administrators and by `create_staff` alone."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Never. The pages are not there either (users/staff_login/urls.py)."""
        return False

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Staff | None:
        """Who may enter with these credentials. For all others the answer is that of a wrong password."""
        person = super().authenticate(request, **credentials)
        return person if may_enter(person) else None

    def pre_login(self, request: HttpRequest, user: AbstractBaseUser, **kwargs: Any) -> HttpResponse | None:
        """Refuses whoever came by a passkey and may not enter."""
        if may_enter(user):
            return None
        request.session.flush()
        messages.error(request, _("This account may not enter the back office."))
        return redirect("account_login")

    def clean_password(self, password: str, user: AbstractBaseUser | None = None) -> str:
        """By the rules in AUTH_PASSWORD_VALIDATORS, and a new one. Raises ValidationError."""
        cleaned: str = super().clean_password(password, user=user)
        if user is not None and user.check_password(cleaned):
            raise self.validation_error("same_as_current")
        return cleaned

    def set_password(self, user: Staff, password: str) -> None:
        """A password of the person's own choice."""
        user.set_password(password)
        user.password_is_one_time = False
        user.save(update_fields=["password", "password_is_one_time"])

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        """On into the back office."""
        return reverse("admin:index")

    def is_reauthentication_required(self, **kwargs: Any) -> bool:
        """Never by allauth, which takes a password for it: users/staff_login/middleware.py asks for the factor."""
        return False

    def get_reauthentication_methods(self, user: AbstractBaseUser | AnonymousUser) -> list[dict[str, Any]]:
        """The second factors that the person has; never the password."""
        kinds = set(Authenticator.objects.filter(user_id=user.pk).values_list("type", flat=True))
        methods = []
        if kinds & {Authenticator.Type.TOTP, Authenticator.Type.RECOVERY_CODES}:
            name, description = "mfa_reauthenticate", _("Use a code")
            methods.append({"id": name, "description": description, "url": reverse(name)})
        if Authenticator.Type.WEBAUTHN in kinds:
            name, description = "mfa_reauthenticate_webauthn", _("Use a passkey or security key")
            methods.append({"id": name, "description": description, "url": reverse(name)})
        return methods


class MFAAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Second factors: their secrets encrypted, the last of them kept."""

    def get_totp_label(self, user: AbstractBaseUser) -> str:
        """What an authenticator app calls the account."""
        return user.get_username()

    def encrypt(self, text: str) -> str:
        """A TOTP secret, or the seed of recovery codes, as it is stored."""
        return encryption.encrypt(text, purpose=encryption.SECOND_FACTORS)

    def decrypt(self, encrypted_text: str) -> str:
        """What was stored. Raises InvalidToken where its encryption key has been retired."""
        return encryption.decrypt(encrypted_text, purpose=encryption.SECOND_FACTORS)

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        """Whoever needs a second factor replaces their last one; `reset_staff_mfa` is for one that is lost."""
        return not (settings.STAFF_MFA_REQUIRED and factors.is_last(authenticator))

    def generate_authenticator_name(self, user: AbstractBaseUser, type: Authenticator.Type) -> str:  # noqa: A002
        """What a new passkey is called until its owner names it."""
        number = Authenticator.objects.filter(user_id=user.pk, type=type).count() + 1
        return _("Passkey %(number)d") % {"number": number}
