"""What comes to be known of a request on its way, for its log line and the metrics.

A statement does not know for which request it runs, and a refusal not where the answer will be counted; each is of
the thread that answers, so it is noted there. Nothing decides anything by what is noted.
"""

import threading


class Facts(threading.local):
    """Of the request that this thread answers."""

    request_id: str | None = None
    # Whose key came with it, known or not proven: a slug, and a key's prefix.
    partner: str | None = None
    key: str | None = None
    # The value of an AuthenticationFailure, for status 401.
    cause: str | None = None
    # Statements, and the seconds that they and the commits took.
    statements: int = 0
    sql_seconds: float = 0.0

    def begin(self, request_id: str) -> None:
        """Forgets the request before."""
        self.request_id = request_id
        self.partner = self.key = self.cause = None
        self.statements = 0
        self.sql_seconds = 0.0

    def add_statements(self, number: int, seconds: float) -> None:
        """Notes that statements were run, well or not, and the time that they took together."""
        self.statements += number
        self.sql_seconds += seconds


facts = Facts()
