"""How the server's own lines look: JSON, and of an exception the places alone.

granian puts the traceback of an application that raised into the line's text, and the exception's own text, which
can hold what a partner sent. The master logs by this too, so it imports nothing of the service.
"""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

_PLACE = re.compile(r'  File "[^"\n]+", line \d+, in \S+')


class ServerFormatter(logging.Formatter):
    """A line of JSON: the first line of what is said, and of the others those that name a place in the code."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, with the fields of the service's other lines."""
        said, *others = record.getMessage().splitlines() or [""]
        line: dict[str, Any] = {
            "event": said,
            "logger": record.name,
            "level": record.levelname.lower(),
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z"),
        }
        if places := [other.strip() for other in others if _PLACE.fullmatch(other)]:
            line["failure"] = places
        return json.dumps(line)


# For granian, which puts these in place of parts of its own.
LOGGING: dict[str, Any] = {
    "formatters": {"json": {"()": ServerFormatter}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "loggers": {"_granian": {"handlers": ["stderr"], "propagate": False}},
}
