"""The server's log lines: JSON, with the code locations of an exception but not its message.

granian puts a traceback with the exception's message, which can hold what a partner sent, into a line's text.
The master uses this module, so it does not import the service.
"""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

_LOCATION = re.compile(r'  File "[^"\n]+", line \d+, in \S+')


class ServerFormatter(logging.Formatter):
    """Formats a record as JSON: the first line of its text, and the code locations in the others."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a line with the fields of the service's other lines."""
        event, *others = record.getMessage().splitlines() or [""]
        line: dict[str, Any] = {
            "event": event,
            "logger": record.name,
            "level": record.levelname.lower(),
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z"),
        }
        if locations := [other.strip() for other in others if _LOCATION.fullmatch(other)]:
            line["failure"] = locations
        return json.dumps(line)


# Overrides parts of granian's own configuration.
LOGGING: dict[str, Any] = {
    "formatters": {"json": {"()": ServerFormatter}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "loggers": {"_granian": {"handlers": ["stderr"], "propagate": False}},
}
