"""How a request is checked by itself, without a canonical request of its sender's to compare."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from partners.doctor.findings import Cause, Finding
from partners.doctor.mistakes import Verdict
from partners.doctor.sent import Sent

WRITES = frozenset({"POST", "PATCH"})
SIGNING_HEADERS = ("X-Api-Key", "X-Request-Timestamp", "X-Request-Signature", "Idempotency-Key")

_QUOTES = ('"', "'", "`", "“", "”")


class Clock(NamedTuple):
    """The service's time, and how many seconds a timestamp may be off it."""

    now: datetime
    skew_seconds: int


class Check(NamedTuple):
    """A cause, and whether a request shows it."""

    cause: Cause
    applies: Callable[[Sent, Clock], Verdict]


# Of each group only the first that applies is told.
Groups = Sequence[Sequence[Check]]


def run(groups: Groups, sent: Sent, clock: Clock) -> Iterator[Finding]:
    """What these checks find."""
    for group in groups:
        verdicts = ((check.cause, check.applies(sent, clock)) for check in group)
        first = next(((cause, verdict) for cause, verdict in verdicts if verdict is not False), None)
        if first is not None:
            cause, verdict = first
            yield cause.found(**(verdict if isinstance(verdict, dict) else {}))


def is_quoted(value: str) -> bool:
    """Whether a header's value stands in quotation marks."""
    return value.startswith(_QUOTES) or value.endswith(_QUOTES)


def listed(names: Iterable[str]) -> Verdict:
    """The names as a fact; False where there are none."""
    text = ", ".join(names)
    return {"names": text} if text else False
