"""The result of a run: medians and ratios, as a table and as JSON."""

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from bench.baseline import Baseline
from bench.measure import Figures
from bench.usage import Memory

_COLUMNS = (
    "workload",
    "revision",
    "requests/s",
    "server µs",
    "PostgreSQL µs",
    "sum µs",
    "p50 ms",
    "p99 ms",
    "baseline µs",
)
_MIB = 2**20

_Measured = TypeVar("_Measured", Figures, Baseline)


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
    memory: Memory | None = None


@dataclass(slots=True)
class Run:
    """All figures. facts: of the machine and the options. baseline: by workload; None without pgbench.

    sides: the checkout, and the revision that it is compared with.
    """

    facts: dict[str, Any]
    sides: Sequence[Side]
    baseline: dict[str, list[Baseline]] | None

    def as_json(self) -> dict[str, Any]:
        """Return all figures, including those of each round."""
        return {
            **self.facts,
            "sides": [
                {
                    "revision": side.revision,
                    "memory": side.memory and side.memory._asdict(),
                    "medians": {name: dataclasses.asdict(medians(rounds)) for name, rounds in side.rounds.items()},
                    "rounds": {name: [*map(dataclasses.asdict, rounds)] for name, rounds in side.rounds.items()},
                }
                for side in self.sides
            ],
            "baseline": self.baseline
            and {
                name: {"medians": dataclasses.asdict(medians(rounds)), "rounds": [*map(dataclasses.asdict, rounds)]}
                for name, rounds in self.baseline.items()
            },
            "ratios": {
                name: {what: ratio._asdict() for what, ratio in of_workload.items()}
                for name, of_workload in self.ratios().items()
            },
        }

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
        for side in self.sides:
            if side.memory is not None:
                yield (
                    f"{side.revision}: {side.memory.total / _MIB:.0f} MiB resident,"
                    f" {side.memory.largest / _MIB:.0f} in the largest process"
                )
        client = max(figures.client for side in self.sides for rounds in side.rounds.values() for figures in rounds)
        yield f"wrk took {client:.0%} of a processor at most: near 100 % wrk would be the limit"
        if self.baseline is None:
            yield "There is no baseline: this PostgreSQL came without pgbench."
        else:
            yield "baseline: pgbench + PostgreSQL, the statements that a request cannot avoid"
        if ratios := self.ratios():
            yield ""
            yield f"Processor time a request, {' : '.join(side.revision for side in self.sides)}; median (from - to)"
            yield from table(
                [
                    ("workload", "server + PostgreSQL", "server"),
                    *((name, _spread(of["both"]), _spread(of["server"])) for name, of in ratios.items()),
                ]
            )

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for name in self.sides[0].rounds:
            baseline = "-" if self.baseline is None else _baseline(medians(self.baseline[name]))
            for side in self.sides:
                of = medians(side.rounds[name])
                costs = (f"{of.per_second:.0f}", f"{of.server:.0f}", f"{of.database:.0f}", f"{of.both:.0f}")
                yield (name, side.revision, *costs, f"{of.p50:.1f}", f"{of.p99:.1f}", baseline)


def medians(rounds: Sequence[_Measured]) -> _Measured:
    """Return the median of each figure."""
    return type(rounds[0])(
        **{
            part.name: statistics.median(getattr(figures, part.name) for figures in rounds)
            for part in dataclasses.fields(rounds[0])
        }
    )


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


def _baseline(cost: Baseline) -> str:
    return f"{cost.pgbench:.0f} + {cost.database:.0f}"


def _spread(ratio: Ratio) -> str:
    return f"{ratio.median:.3f} ({ratio.lowest:.3f} - {ratio.highest:.3f})"
