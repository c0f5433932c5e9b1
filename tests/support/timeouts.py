"""How long tests wait: longer than production, because a busy machine must not fail a test of something else."""

from typing import Any

# For a condition that does come to hold: a server that starts, a process that ends, an answer.
WAIT_SECONDS = 120.0

# In place of production's connect_timeout, statement_timeout, lock_timeout and
# idle_in_transaction_session_timeout (config/settings.py). Shorter than WAIT_SECONDS, so that a deadlock or a lock
# that nobody releases still shows as what it is.
CONNECT_SECONDS = 60
SESSION_TIMEOUTS = "-c statement_timeout=90s -c lock_timeout=60s -c idle_in_transaction_session_timeout=300s"


def lengthen(databases: dict[str, dict[str, Any]]) -> None:
    """Change DATABASES of config.settings: the primary waits as long as a busy machine may need.

    The replica keeps production's time-outs: they decide where a list is read.
    """
    options = databases["default"]["OPTIONS"]
    # Past the server's own limits, as in production.
    databases["default"]["ANSWER_SECONDS"] = 95.0
    options["connect_timeout"] = CONNECT_SECONDS
    # PostgreSQL takes the last of several values of one parameter.
    options["options"] += f" {SESSION_TIMEOUTS}"
