"""The hosts of a database, as those of a cluster whose primary can change (DATABASE_URL with several hosts).

psycopg tries all hosts in the order of the URL, and waits for each that is silent, every time. Here the last good host
comes first, and what one attempt has not tried, the next one tries: so an attempt takes seconds at most, whatever the
number of hosts.
"""

import time
from typing import Any

import psycopg

from core.database.pipeline import BoundedConnection
from core.request_context import request_context

# After this no further host is tried, by the request that tries them.
CONNECT_SECONDS = 2.0
# How long a host may be silent: the least that libpq knows, and `connect_timeout` of DATABASES.
SILENT_SECONDS = 2.0


class Hosts:
    """The hosts of one database, for all threads of a process."""

    def __init__(self, names: str, ports: str) -> None:
        """names, ports: separated by commas, as libpq's; one port for all, or one for each."""
        hosts, numbers = names.split(","), ports.split(",")
        numbers = numbers * len(hosts) if len(numbers) == 1 else numbers
        # libpq's parameters of each; None: its default.
        self._order = [{"host": host or None, "port": port or None} for host, port in zip(hosts, numbers, strict=True)]

    def connect(self, parameters: dict[str, Any]) -> BoundedConnection:
        """Return a connection to the first host that accepts one. Raises psycopg.OperationalError.

        No host is tried whose silence could outlast the request's deadline.
        parameters: of psycopg's connect. A host without the role that `target_session_attrs` names accepts none.
        """
        until = time.monotonic() + CONNECT_SECONDS
        if (deadline := request_context.deadline) is not None:
            until = min(until, deadline - SILENT_SECONDS)
            if until <= time.monotonic():
                raise psycopg.OperationalError("The request has no time for a connection.")
        hosts = self._order
        for number, host in enumerate(hosts, 1):
            try:
                return BoundedConnection.connect(**parameters | host)
            except psycopg.OperationalError:
                # Last, unless another thread has done so.
                if self._order[0] == host:
                    self._order = [*self._order[1:], host]
                if number == len(hosts) or time.monotonic() >= until:
                    raise
        raise AssertionError("There is a host.")
