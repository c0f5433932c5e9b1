"""Timeouts of tests: longer than production's, for busy machines."""

from typing import Any

# The limit on conditions that become true: a server starts, a process ends, a response arrives.
WAIT_SECONDS = 120.0

# In place of production's connect_timeout, statement_timeout, lock_timeout and
# idle_in_transaction_session_timeout (config/settings.py). Shorter than WAIT_SECONDS, so that a deadlock shows as one.
CONNECT_SECONDS = 60
SESSION_TIMEOUTS = "-c statement_timeout=90s -c lock_timeout=60s -c idle_in_transaction_session_timeout=300s"


def lengthen(databases: dict[str, dict[str, Any]]) -> None:
    """Lengthen the timeouts of the serving role in DATABASES."""
    options = databases["default"]["OPTIONS"]
    # Longer than the server's own limits, as in production.
    databases["default"]["RESPONSE_SECONDS"] = 95.0
    options["connect_timeout"] = CONNECT_SECONDS
    # PostgreSQL takes the last of several values of one parameter.
    options["options"] += f" {SESSION_TIMEOUTS}"
