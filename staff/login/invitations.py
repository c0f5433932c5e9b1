"""Links by which the owner of a staff account chooses its password, without anybody else knowing it.

The token is Django's: valid for PASSWORD_RESET_TIMEOUT, until a login or a change of password or e-mail address. It is
in the link's fragment, which browsers send to nobody: not to a log, a proxy or another page. The page sends it by POST
(backoffice/static/staff_login/invitation.js).
"""

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.urls import reverse
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode

from staff.models import Staff


def link(staff: Staff) -> str:
    """The path of an invitation, to be shown once."""
    account = urlsafe_base64_encode(str(staff.pk).encode())
    return f"{reverse('staff_invitation')}#{account}.{default_token_generator.make_token(staff)}"


def public_link(staff: Staff) -> str:
    """The URL of an invitation where no request says the service's address (docs/operations.md)."""
    exact = [origin for origin in settings.CSRF_TRUSTED_ORIGINS if "*" not in origin]
    return f"{exact[0] if exact else f'https://{settings.ALLOWED_HOSTS[0]}'}{link(staff)}"


def find_invited(token: str) -> Staff | None:
    """The account of a link's fragment, locked; None where the link is not valid, or no longer."""
    account, _separator, rest = token.partition(".")
    try:
        pk = int(urlsafe_base64_decode(account))
    except ValueError:
        return None
    invited = Staff.objects.filter(pk=pk, is_active=True, is_staff=True, password_is_one_time=True)
    if not settings.STAFF_PASSWORD_LOGIN:
        invited = invited.filter(is_emergency=True)
    staff = invited.select_for_update(no_key=True).first()
    return staff if staff is not None and default_token_generator.check_token(staff, rest) else None
