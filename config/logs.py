"""Logging: JSON lines in production, readable ones while DEBUG; never a message of an exception.

The text of an exception can hold what a partner sent (PostgreSQL quotes the values of a violated
constraint), so a line names the exception's class and where it was raised, and no more. In production that goes
for exceptions that nobody catches and for warnings too, and of a library's line only the template is told.
"""

import logging
import logging.config
import sys
import threading
import traceback
import warnings
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

import orjson
import structlog
from structlog.processors import add_log_level
from structlog.typing import EventDict, WrappedLogger

from partners.monitoring.request_context import request_context

# Whose texts are made of what was sent, or of the path.
MADE_OF_VALUES = ("django.security", "django.request")
# What Django logs as an error with a traceback, and any client can cause with one request: a host that is not ours, a
# form that is too large. The request's own line says 400.
CAUSED_BY_CLIENTS = tuple(
    f"django.security.{name}"
    for name in ("DisallowedHost", "RequestDataTooBig", "TooManyFieldsSent", "TooManyFilesSent")
)
# Enough to find the place; a recursion must not fill the disk.
MOST_LINES = 100


def as_warning(record: logging.LogRecord) -> bool:
    """A filter of loggers that lets each record through, as a warning without a traceback."""
    record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
    record.exc_info = None
    return True


def describe(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """What every line tells besides: when, how grave, which request it is of, who sent that, and what failed.

    Whose request it is, a line may say itself. One function, because each further one costs every request.
    """
    add_log_level(logger, name, event)
    event["timestamp"] = f"{datetime.now(UTC).replace(tzinfo=None).isoformat()}Z"
    if "exc_info" in event:
        _describe_exception(event)
    if request_context.request_id is not None:
        event.setdefault("request_id", request_context.request_id)
    if request_context.partner is not None:
        event.setdefault("partner", request_context.partner)
        event.setdefault("key", request_context.key)
    return event


def name_alone(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """Gives a library's line its logger, and that in place of a text which is made of what was sent."""
    event["logger"] = event["_record"].name
    if event["logger"].startswith(MADE_OF_VALUES):
        event["event"] = event["logger"]
    return event


def _describe_exception(event: EventDict) -> None:
    """Replaces `exc_info` by the classes and code places of the exception and its causes."""
    info = event.pop("exc_info")
    if info is True:
        info = sys.exc_info()
    error = info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        event["failure"] = _places(error)


def _places(error: BaseException) -> list[str]:
    lines: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(lines) < MOST_LINES:
        lines.append(f"{type(seen).__module__}.{type(seen).__qualname__}")
        lines += _frames(seen.__traceback__)
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return lines


def _frames(trace: TracebackType | None) -> list[str]:
    return [f"  {f.filename}:{f.lineno} {f.name}" for f in traceback.extract_tb(trace)[-12:]]


def _to_json(event: Any, **_: Any) -> bytes:
    return orjson.dumps(event, default=str)


def _decoded(_logger: WrappedLogger, _name: str, line: Any) -> str:
    text: str = line.decode()
    return text


class LineLogger:
    """Writes a line as it is to standard error, as a record of the standard library's logging would cost twice as much.

    Like that it never fails: a request is not to, for want of room for its line.
    """

    def __init__(self, *_: object) -> None:
        """Takes a logger's name, which no line of ours tells."""
        # There is none where the process was started with it closed.
        self._stream = getattr(sys.stderr, "buffer", None)

    def write(self, line: bytes) -> None:
        """line: without its end."""
        if self._stream is not None:
            with suppress(OSError, ValueError):
                self._stream.write(line + b"\n")
                self._stream.flush()

    debug = info = warning = error = critical = write


def configure(*, debug: bool) -> None:
    """Sets up the standard library's logging and structlog to write the same lines to standard error."""
    to_json = structlog.processors.JSONRenderer(serializer=_to_json)
    # While DEBUG our lines go the way of the libraries' ones.
    last: Any = structlog.stdlib.ProcessorFormatter.wrap_for_formatter if debug else to_json
    logger_factory: Any = structlog.stdlib.LoggerFactory() if debug else LineLogger
    renderers = [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())] if debug else [to_json, _decoded]
    structlog.configure(
        processors=[describe, last],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=logger_factory,
        cache_logger_on_first_use=True,
    )
    if not debug:
        _say_what_nobody_catches()
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "structlog": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    # What a library puts into its template may be anything.
                    "foreign_pre_chain": [describe] if debug else [describe, name_alone],
                    "use_get_message": debug,
                    "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structlog"}},
            "root": {"handlers": ["stderr"], "level": "WARNING"},
            "loggers": {
                "partners": {"level": "INFO"},
                "users": {"level": "INFO"},
                "transactions": {"level": "INFO"},
                # Below ERROR it repeats what the request line says, with the path in full.
                "django.request": {"level": "ERROR"},
                # Its text is a part of the query; the request line says 400.
                "django.security.DisallowedModelAdminLookup": {"level": "CRITICAL"},
                **{name: {"filters": [as_warning]} for name in CAUSED_BY_CLIENTS},
            },
        }
    )


def _say_what_nobody_catches() -> None:
    """Has exceptions that end a process or a thread, and warnings, logged as lines like all others."""
    log = structlog.get_logger("config.logs")

    sys.excepthook = lambda _kind, error, _trace: log.critical("not caught", exc_info=error)
    threading.excepthook = lambda crash: log.critical("not caught", exc_info=crash.exc_value)
    sys.unraisablehook = lambda crash: log.error("not caught", exc_info=crash.exc_value)
    warnings.showwarning = lambda _message, category, filename, lineno, _file=None, _line=None: log.warning(  # type: ignore[assignment]
        "warning", category=category.__name__, place=f"{filename}:{lineno}"
    )
