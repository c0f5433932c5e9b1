"""The result of a run: medians and ratios, as a table."""

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bench.measure import Figures

_COLUMNS = ("workload", "revision", "requests/s", "server µs", "PostgreSQL µs", "sum µs", "p50 ms", "p99 ms")


class Ratio(NamedTuple):
    """The ratio of two costs, by rounds."""

    median: float
    lowest: float
    highest: float


@dataclass(slots=True)
class Side:
    """One revision's figures. rounds: by workload, in the order of the rounds."""

    revision: str
    rounds: dict[str, list[Figures]] = field(default_factory=dict)


@dataclass(slots=True)
class Run:
    """All figures. sides: the checkout, and the revision that it is compared with."""

    sides: Sequence[Side]

    def ratios(self) -> dict[str, dict[str, Ratio]]:
        """Return processor time of the first side by that of the second: by workload, in sum and of the server."""
        if len(self.sides) == 1:
            return {}
        first, second = (side.rounds for side in self.sides)
        return {
            name: {
                "both": compare(first[name], second[name], lambda figures: figures.both),
                "server": compare(first[name], second[name], lambda figures: figures.server),
            }
            for name in first
        }

    def lines(self) -> Iterator[str]:
        """Return the report as text."""
        yield from table([_COLUMNS, *self._rows()])
        yield ""
        client = max(figures.client for side in self.sides for rounds in side.rounds.values() for figures in rounds)
        yield f"wrk took {client:.0%} of a processor at most: near 100 % wrk would be the limit"
        if ratios := self.ratios():
            yield ""
            yield f"Processor time a request, {' : '.join(side.revision for side in self.sides)}; median (from - to)"
            yield from table(
                [
                    ("workload", "server + PostgreSQL", "server"),
                    *((name, _spread(each["both"]), _spread(each["server"])) for name, each in ratios.items()),
                ]
            )

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for name in self.sides[0].rounds:
            for side in self.sides:
                middle = medians(side.rounds[name])
                costs = (middle.per_second, middle.server, middle.database, middle.both)
                yield (
                    name,
                    side.revision,
                    *(f"{cost:.0f}" for cost in costs),
                    f"{middle.p50:.1f}",
                    f"{middle.p99:.1f}",
                )


def medians(rounds: Sequence[Figures]) -> Figures:
    """Return the median of each figure."""
    names = [part.name for part in dataclasses.fields(Figures)]
    return Figures(**{name: statistics.median(getattr(figures, name) for figures in rounds) for name in names})


def compare(first: Iterable[Figures], second: Iterable[Figures], cost: Callable[[Figures], float]) -> Ratio:
    """Return the ratio of a cost, taken within each round, where both sides were measured in turn."""
    ratios = [cost(one) / cost(other) for one, other in zip(first, second, strict=True)]
    return Ratio(statistics.median(ratios), min(ratios), max(ratios))


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Return aligned lines, the first column flush left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        yield "  ".join(cells)


def _spread(ratio: Ratio) -> str:
    return f"{ratio.median:.3f} ({ratio.lowest:.3f} - {ratio.highest:.3f})"
