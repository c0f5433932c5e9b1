"""What `check --deploy --database default` finds about the company's provider."""

from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from django.conf import settings
from django.core.checks import Error
from django.http import HttpRequest
from requests import RequestException

from partners.checks import Found, installation_check
from staff.oidc.provider import Provider


@installation_check
def check_provider() -> Found:
    """Whether the company's provider answers with its discovery document."""
    if not settings.STAFF_OIDC_ISSUER:
        return
    request = HttpRequest()
    try:
        _ = Provider(request).get_oauth2_adapter(request).openid_config
    except (OAuth2Error, RequestException) as error:
        text = f"The discovery document of STAFF_OIDC_ISSUER cannot be read ({type(error).__name__})."
        hint = "Check the issuer, and the way out to it; see docs/operations.md, “The company's provider is away”."
        yield Error(text, hint=hint, id="psi.E032")
