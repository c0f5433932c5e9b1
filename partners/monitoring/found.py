"""What a check of `doctor` finds."""

from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple

ENDING_SOON = timedelta(days=14)
MAX_NAMED = 5


class Result(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


class Found(NamedTuple):
    """What a check returns. advice: what to do; empty where nothing has to be done."""

    result: Result
    text: str
    advice: str = ""


def named(names: list[str]) -> str:
    """The first MAX_NAMED names, and how many there are beyond."""
    further = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {further} more" if further > 0 else "")
