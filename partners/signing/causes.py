"""The causes of a refusal, with their texts from causes.json, and the findings that name them."""

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, TypedDict


class Level(StrEnum):
    """The severity of a finding: it explains a refusal, may lead to one, or is information."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Part(NamedTuple):
    """A part of a request. title: "" if it is no line of the canonical request. remedy: of causes without their own."""

    name: str
    title: str
    rule: str
    remedy: str


class Finding(TypedDict):
    """A cause that applies to a request. line: the name of the line in question; None if there is no single one."""

    cause: str
    level: Level
    title: str
    explanation: str
    remedy: str
    line: str | None


_TEXTS = json.loads(Path(__file__).with_name("causes.json").read_bytes())
_PARTS = {name: Part(name, texts.get("title", ""), texts["rule"], texts["remedy"]) for name, texts in _TEXTS.items()}
LINES = tuple(part for part in _PARTS.values() if part.title)
METHOD, PATH, QUERY, TIMESTAMP, IDEMPOTENCY_KEY, BODY = range(len(LINES))
# The keys are codes of causes; the values the part, the level, and title, explanation and remedy where they differ from
# the part's.
CAUSES: dict[str, tuple[Part, Level, dict[str, str]]] = {
    code: (part, level, texts)
    for name, part in _PARTS.items()
    for level in Level
    for code, texts in _TEXTS[name].get(level, {}).items()
}
# Whether a cause applies, by its code; a text is its explanation.
Verdicts = Mapping[str, object]


def finding(code: str, explanation: str = "", *, line: Part | None = None) -> Finding:
    """Return the finding of a cause. explanation: in place of the usual one. line: of a cause of any line."""
    part, level, texts = CAUSES[code]
    part = line or part
    return Finding(
        cause=code,
        level=level,
        title=texts["title"],
        explanation=explanation or texts.get("explanation", part.rule),
        remedy=texts.get("remedy", part.remedy),
        line=part.name if part.title else None,
    )


def first_finding(verdicts: Verdicts) -> Finding | None:
    """Return the finding of the first cause that applies."""
    for code, verdict in verdicts.items():
        if verdict:
            return finding(code, verdict if isinstance(verdict, str) else "")
    return None


def counted(number: float, unit: str) -> str:
    """Return a number with its unit, such as 1 hour, 1.5 hours, 3,600 seconds. unit: in the singular."""
    return f"{number:,.15g} {unit}" + ("" if number == 1 else "s")
