"""Logging: JSON lines in production, readable text if DEBUG, and never the message of an exception.

It can hold what a partner sent, so a line has the exception's classes and code locations. In production that includes
uncaught exceptions and warnings, and of a library's line only the template is logged.
"""

import logging
import logging.config
import re
import sys
import threading
import warnings
from contextlib import suppress
from typing import Any

import orjson
import structlog
from structlog.processors import JSONRenderer
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, WrappedLogger

from core.request_context import add_context

# Loggers whose templates hold values of the request already.
UNSAFE_TEMPLATES = ("django.security", "django.request")
# Django logs these as errors with a traceback, but any client can cause them with one request.
CLIENT_ERRORS = ("DisallowedHost", "RequestDataTooBig", "TooManyFieldsSent", "TooManyFilesSent")
_LOCATION = re.compile(r'  File "[^"\n]+", line \d+, in \S+')

_APPS = ("core", "partners", "events", "staff", "users", "transactions", "sandbox", "backoffice", "docs_site")
_LOGGERS: dict[str, dict[str, Any]] = {
    **{app: {"level": "INFO"} for app in _APPS},
    # Below ERROR, and without an exception, it repeats the request's line, with the whole path.
    "django.request": {"level": "ERROR", "filters": [lambda record: bool(record.exc_info)]},
    # Its text is a part of the query; the request's line says 400.
    "django.security.DisallowedModelAdminLookup": {"level": "CRITICAL"},
}


def configure(*, debug: bool) -> None:
    """Have structlog and the standard library's logging write lines of one form to standard error."""
    structlog.configure(
        # In development, structlog's lines go through the standard library's logging.
        processors=[
            add_context,
            ProcessorFormatter.wrap_for_formatter if debug else JSONRenderer(orjson.dumps, default=str),
        ],
        logger_factory=structlog.stdlib.LoggerFactory() if debug else LineLogger,
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )
    if not debug:
        log = structlog.get_logger("config.logs")
        sys.excepthook = lambda _type, error, _traceback: log.critical("uncaught exception", exc_info=error)
        threading.excepthook = lambda crash: log.critical("uncaught exception", exc_info=crash.exc_value)
        sys.unraisablehook = lambda crash: log.error("uncaught exception", exc_info=crash.exc_value)
        warnings.showwarning = lambda _message, category, filename, lineno, _file=None, _line=None: log.warning(  # type: ignore[assignment]
            "warning", category=category.__name__, place=f"{filename}:{lineno}"
        )
    formatter = {
        "()": ProcessorFormatter,
        "foreign_pre_chain": [add_context] if debug else [add_context, remove_values],
        "use_get_message": debug,
        "processors": [
            ProcessorFormatter.remove_processors_meta,
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()) if debug else JSONRenderer(default=str),
        ],
    }
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"structlog": formatter},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structlog"}},
            "root": {"handlers": ["stderr"], "level": "WARNING"},
            "loggers": _LOGGERS | {f"django.security.{name}": {"filters": [as_warning]} for name in CLIENT_ERRORS},
        }
    )


def remove_values(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """Name a library's logger, and remove what can hold values, as the traceback that granian puts below a line."""
    event["logger"] = event["_record"].name
    event["event"], *below = event["event"].splitlines() or [""]
    if locations := [line.strip() for line in below if _LOCATION.fullmatch(line)]:
        event["failure"] = locations
    if event["logger"].startswith(UNSAFE_TEMPLATES):
        event["event"] = event["logger"]
    return event


def as_warning(record: logging.LogRecord) -> bool:
    """Turn a record into a warning without a traceback; a filter that passes all records."""
    record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
    record.exc_info = None
    return True


class LineLogger:
    """Writes lines to standard error, at half the cost of `logging`; never raises: a request goes on without it."""

    def __init__(self, *_: object) -> None:
        # None if the process was started with standard error closed.
        self._stream = getattr(sys.stderr, "buffer", None)

    def write(self, line: bytes) -> None:
        """Write a line. line: without its end."""
        if self._stream is not None:
            with suppress(OSError, ValueError):
                self._stream.write(line + b"\n")
                self._stream.flush()

    debug = info = warning = error = critical = write
