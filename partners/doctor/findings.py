"""What the doctor finds: a cause from its catalogue, told for the request at hand."""

from dataclasses import dataclass
from enum import StrEnum

# The lines of the canonical request, in order: contract, section 3.
LINES = ("method", "path", "query", "timestamp", "idempotencyKey", "bodySha256")
METHOD, PATH, QUERY, TIMESTAMP, IDEMPOTENCY_KEY, BODY = range(len(LINES))


class NotUnderstoodError(ValueError):
    """The text cannot be read as a request; the message says why, for people."""


class SecretPastedError(NotUnderstoodError):
    """The text holds a secret, which has to be taken out of it, and out of use."""


class Level(StrEnum):
    """How much a finding matters: it explains a refusal, may lead to one, or is good to know."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


ERROR, WARNING, NOTE = Level


def counted(number: float, unit: str) -> str:
    """A number with its unit, such as 1 hour, 1.5 hours, 3,600 seconds. unit: in the singular."""
    return f"{number:,.15g} {unit}" + ("" if number == 1 else "s")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to tell. line: the line of the canonical request it is about, by its name in LINES."""

    cause: str
    level: Level
    title: str
    explanation: str
    remedy: str
    line: str | None

    def as_json(self) -> dict[str, str | None]:
        """For the page and `--json`."""
        return {
            "cause": self.cause,
            "level": self.level.value,
            "title": self.title,
            "explanation": self.explanation,
            "remedy": self.remedy,
            "line": self.line,
        }


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that can be wrong, in words. line: its index; None where it is about no single line.

    explanation: may hold names in braces, for facts about the request at hand.
    """

    code: str
    level: Level
    title: str
    explanation: str
    remedy: str
    line: int | None = None

    def found(self, *, line: int | None = None, **facts: object) -> Finding:
        """This cause met in a request. line: where the cause itself is about no single one."""
        met_at = self.line if line is None else line
        explanation = self.explanation.format(**facts)
        name = None if met_at is None else LINES[met_at]
        return Finding(self.code, self.level, self.title, explanation, self.remedy, name)
