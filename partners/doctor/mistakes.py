"""Mistakes within one line of the canonical request: what it then is, so that what somebody signed tells the cause."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from partners.doctor.findings import Cause, Finding
from partners.doctor.sent import Sent

# Whether something is so; where it is, perhaps with facts for the cause's explanation.
Verdict = bool | dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mistake:
    """One way to get a line wrong. cause.line is the line.

    forms: what the line then is, the likeliest first; may hold the right one, which is left out.
    fits: whether a line may come of it, where forms cannot name them all.
    """

    cause: Cause
    forms: Callable[[Sent], Iterable[str]] = lambda _: ()
    fits: Callable[[Sent, str], Verdict] = lambda _sent, _theirs: False


@dataclass(frozen=True, slots=True)
class Mistaken:
    """A mistake as it shows in one request. forms: without the right line."""

    mistake: Mistake
    forms: tuple[str, ...]

    def explains(self, sent: Sent, theirs: str) -> Finding | None:
        """The finding where this mistake makes the line what it is."""
        verdict = theirs in self.forms or self.mistake.fits(sent, theirs)
        if verdict is False:
            return None
        return self.mistake.cause.found(**(verdict if isinstance(verdict, dict) else {}))


def mistaken(mistakes: Iterable[Mistake], sent: Sent) -> Iterator[Mistaken]:
    """The mistakes as they show in this request; in one that nothing can sign, they have no forms.

    A form that several mistakes have is that of the first.
    """
    known = set(enumerate(sent.canonical_lines))
    for mistake in mistakes:
        line = mistake.cause.line or 0
        forms = dict.fromkeys(mistake.forms(sent)) if sent.is_utf8 else {}
        new = tuple(form for form in forms if (line, form) not in known and "\n" not in form)
        known.update((line, form) for form in new)
        yield Mistaken(mistake, new)
