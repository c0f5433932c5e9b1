"""Partners with their API keys, and records of requests."""

from partners.models.partner import KEY_IS_ACTIVE, KEY_PREFIXES, SECRET_PREFIXES, ApiKey, Mode, Partner, in_force
from partners.models.requests import IdempotencyRecord, SandboxRequest, UsedSignature

__all__ = (
    "KEY_IS_ACTIVE",
    "KEY_PREFIXES",
    "SECRET_PREFIXES",
    "ApiKey",
    "IdempotencyRecord",
    "Mode",
    "Partner",
    "SandboxRequest",
    "UsedSignature",
    "in_force",
)
