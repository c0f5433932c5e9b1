"""A sandbox partner's request by its id, for who has the secret of one of its keys: /docs/doctor."""

import hmac
import secrets
from collections.abc import Iterator
from functools import cache
from itertools import zip_longest
from typing import Any

from cryptography.fernet import InvalidToken
from django.db.models.functions import Now

from partners import encryption, request_log
from partners.models import ApiKey, SandboxRequest, in_force
from partners.uuids import is_uuid
from sandbox.request_views import SandboxRequestSerializer

# A partner has few keys in force. So many secrets are compared for every id, known or not.
MAX_KEYS = 10
_NOBODY = 0


def find(request_id: str, secret: str) -> dict[str, Any] | None:
    """The request as GET /v1/sandbox/requests/{requestId} has it; None if the secret is not its partner's.

    An unknown id costs the work of a wrong secret. Raises Django's database errors.
    """
    row = None
    if is_uuid(request_id):
        row = SandboxRequest.objects.filter(request_id=request_id, created_at__gt=Now() - request_log.KEPT).first()
    partner_id = row.partner_id if row else _NOBODY
    keys = ApiKey.objects.filter(in_force(), partner_id=partner_id, partner__enabled=True).order_by("-id")
    encrypted = list(keys.values_list("encrypted_secret", flat=True)[:MAX_KEYS])
    given = secret.encode(errors="replace")
    matches = [hmac.compare_digest(one.encode(), given) for one in _secrets(encrypted)]
    return dict(SandboxRequestSerializer(row).data) if row is not None and any(matches) else None


def _secrets(encrypted: list[str]) -> Iterator[str]:
    """The secrets, and random texts up to MAX_KEYS, at the same cost."""
    for one, padding in zip_longest(encrypted, [_padding()] * MAX_KEYS):
        try:
            secret = encryption.decrypt(one or padding, purpose=encryption.API_SECRETS)
        except InvalidToken:
            secret = ""
        yield secret if one and secret else secrets.token_hex()


@cache
def _padding() -> str:
    """An encrypted text as long as that of a secret."""
    return encryption.encrypt("psi_test_secret_" + secrets.token_urlsafe(32), purpose=encryption.API_SECRETS)
