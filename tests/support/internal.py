"""Searches every byte that a partner gets in a test for what compliance keeps to itself (contract, section 13)."""

import json
import re
from collections.abc import Iterator
from typing import Any

from sandbox import simulated
from users.decisions import risk_flags
from users.decisions.reasons import Reason
from users.models.statuses import StatusReason

# Codes of decisions that are no reason for the partner; `other` is also a code of requirements.
CODES = {*Reason.values} - {*StatusReason.values, "other"}
# One of them is the name of a field too.
RISK_FLAGS = set(risk_flags.RISK_FLAGS) - {"postalCode"}
# The reason of the suite's decisions, and of simulated ones.
REASON = "Papers seen."
STAFF = re.compile(r"(staff|reviewer)-[0-9a-f-]+")
TEXTS = frozenset({REASON, simulated.REASON})


class InternalError(AssertionError):
    """A response, an event or a webhook that shows what only staff may see."""


def check(body: bytes) -> None:
    """Raise InternalError for a value of a JSON body, or of JSON in a text of it, that is for staff alone."""
    try:
        found = json.loads(body)
    except ValueError:
        return
    for text in _texts(found):
        if text in CODES or text in RISK_FLAGS or text in TEXTS or STAFF.fullmatch(text):
            raise InternalError(f"{text!r} is for staff alone")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield name
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, str):
        yield value
