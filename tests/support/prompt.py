"""Answers that have to come in time. A machine that is busy or paused delays one, but not each of several."""

import time
from collections.abc import Callable
from typing import TypeVar

# The time within which every response arrives, whatever hangs (docs/operations.md).
ANSWER_SECONDS = 5.0
_TIMES = 3

T = TypeVar("T")


def promptly(ask: Callable[[], T]) -> T:
    """Return the first response that took less than ANSWER_SECONDS."""

    def measured() -> tuple[float, T]:
        begun = time.monotonic()
        response = ask()
        return time.monotonic() - begun, response

    return once_prompt(measured)


def once_prompt(measure: Callable[[], tuple[float, T]]) -> T:
    """Return the result of the first measurement below ANSWER_SECONDS. measure: returns seconds and the result."""
    found = []
    for _ in range(_TIMES):
        seconds, result = measure()
        if seconds < ANSWER_SECONDS:
            return result
        found.append(seconds)
    raise AssertionError(f"Each took longer than {ANSWER_SECONDS} s: {found}")
