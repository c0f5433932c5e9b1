"""A cause of a refusal, in words, and a finding: a cause met in one request."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypedDict

# The lines of the canonical request, in order: contract, section 3.
LINES = ("method", "path", "query", "timestamp", "idempotencyKey", "bodySha256")
METHOD, PATH, QUERY, TIMESTAMP, IDEMPOTENCY_KEY, BODY = range(len(LINES))

# fmt: off
# What each line is, and what to do: for causes that have nothing to add. The last is for the six together.
RULES = (
    ("Line 1 is the method in upper case.", "Sign the method that is sent, in upper case."),
    ("Line 2 is the path from /v1 on, decoded, then percent-encoded in upper case, all but A-Z a-z 0-9 - . _ ~ /.",
     "Build line 2 from the path of the URL that you send: decode it, then percent-encode every other byte."),
    ("Line 3 is the query: names and values decoded, then percent-encoded, / too, the pairs sorted and joined by &.",
     "Build line 3 from the decoded pairs: percent-encode all but A-Z a-z 0-9 - . _ ~, sort byte by byte, then join."),
    ("Line 4 is the text of X-Request-Timestamp: a date-time of RFC 3339 with Z or an offset.",
     "Take the time once, in UTC like 2026-01-15T10:30:00Z, and use that text for both the header and line 4."),
    ("Line 5 is the text of Idempotency-Key, character by character; empty where there is none.",
     "Make the key once for each request, a UUID of 36 characters, and use that text for both the header and line 5."),
    ("Line 6 is the lower-case hex SHA-256 of the body's bytes as they are sent; without a body, of no bytes.",
     "Make the bytes of the body once, hash those bytes and send those bytes."),
    ("The canonical request is six lines in UTF-8, joined by one line feed, with nothing before or after them.",
     "Join the six lines with \\n, also empty ones, and sign nothing else."),
)
# fmt: on

# Whether a cause applies; where it does, perhaps with facts for its explanation.
Verdict = bool | dict[str, Any]


class Level(StrEnum):
    """How much a finding matters: it explains a refusal, may lead to one, or is information."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


ERROR, WARNING, NOTE = Level


class Finding(TypedDict):
    """A cause met in a request, as page and `--json` show it. line: its name in LINES; None for no single line."""

    cause: str
    level: Level
    title: str
    explanation: str
    remedy: str
    line: str | None


@dataclass(frozen=True)
class Cause:
    """One thing that can be wrong. explanation, remedy: "" for what RULES says; facts are in braces.

    line: its index in LINES; None where the cause belongs to no single line.
    """

    code: str
    title: str
    remedy: str = ""
    explanation: str = ""
    level: Level = ERROR
    line: int | None = None

    def found(self, *, line: int | None = None, facts: Verdict = True) -> Finding:
        """Return the finding. line: where the cause itself belongs to no single line."""
        index = self.line if line is None else line
        rule, remedy = RULES[-1 if index is None else index]
        explanation = self.explanation.format(**facts) if isinstance(facts, dict) else self.explanation
        return Finding(
            cause=self.code,
            level=self.level,
            title=self.title,
            explanation=explanation or rule,
            remedy=self.remedy or remedy,
            line=None if index is None else LINES[index],
        )


def counted(number: float, unit: str) -> str:
    """Return a number with its unit, such as 1 hour, 1.5 hours, 3,600 seconds. unit: in the singular."""
    return f"{number:,.15g} {unit}" + ("" if number == 1 else "s")
