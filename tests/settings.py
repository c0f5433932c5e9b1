"""The service's own settings with an environment of known values: nobody's `.env` changes what the tests find."""

import os

# For the tests that want a Redis; the service itself gets none.
os.environ.setdefault("TEST_REDIS_URL", os.environ.get("REDIS_URL", ""))
os.environ.update(
    {
        "DEBUG": "true",
        "SECRET_KEY": "tests-only-0123456789-abcdefghijklmnop",
        "SECRET_KEY_FALLBACKS": "",
        "SECRETS_ENCRYPTION_KEYS": "tests-only-9876543210-abcdefghijklmnop",
        "PARTNER_RATE_LIMIT": "1000000/minute",
        "CLOCK_SKEW_SECONDS": "300",
        "COMPLIANCE_TIME_ZONE": "America/Toronto",
        "REDIS_URL": "",
        "DATABASE_URL": "",
        # Tests that log in go past the second factor; those of the login itself set this to true.
        "STAFF_MFA_REQUIRED": "false",
        "STAFF_OIDC_ISSUER": "",
        "STAFF_OIDC_CLIENT_ID": "",
        "STAFF_OIDC_CLIENT_SECRET": "",
        "STAFF_OIDC_NAME": "",
        "STAFF_OIDC_ROLES": "",
        "STAFF_OIDC_ROLES_CLAIM": "",
        "STAFF_OIDC_MFA_VALUES": "",
        "STAFF_PASSWORD_LOGIN": "true",
        "OWNER_DATABASE_URL": "",
        # Tests that keep files name a folder of their own (tests/support/documents.py).
        "DOCUMENT_STORAGE_URL": "",
        "EVIDENCE_SIGNING_KEY": "",
        "WEBHOOK_CA_BUNDLE": "",
        "WEBHOOK_ALLOW_LOOPBACK": "false",
    }
)

from pathlib import Path

from config.embedded import server


class UnsafeServer(server.EmbeddedServer):
    """A server whose data need not survive a power failure: TRUNCATE and CREATE DATABASE wait for no disk.

    Tables are analysed by tests alone: a plan does not depend on when autovacuum comes by.
    """

    options = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off"


# Not that of the demo and of development.
server.checkout_server = UnsafeServer(Path(__file__).parents[1] / ".local" / "test-postgres")

from config.settings import *  # noqa: E402, F403
from tests.support.timeouts import lengthen  # noqa: E402

lengthen(DATABASES)  # noqa: F405

# Passwords of tests guard nothing.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
