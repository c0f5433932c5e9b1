"""What a run comes to: medians, ratios, a table for people and JSON for programs."""

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from bench.floor import Floor
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
    "floor µs",
)
_MIB = 2**20

_Measured = TypeVar("_Measured", Figures, Floor)


class Ratio(NamedTuple):
    """How one compares with another, by rounds: 1.10 is a tenth more."""

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
    """All that was measured. facts: of the machine and the options. floor: by workload; None without pgbench.

    sides: the present checkout, and the revision that it is compared with, if any.
    """

    facts: dict[str, Any]
    sides: Sequence[Side]
    floor: dict[str, list[Floor]] | None

    def as_json(self) -> dict[str, Any]:
        """Everything, each round's figures too."""
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
            "floor": self.floor
            and {
                name: {"medians": dataclasses.asdict(medians(rounds)), "rounds": [*map(dataclasses.asdict, rounds)]}
                for name, rounds in self.floor.items()
            },
            "ratios": {
                name: {what: ratio._asdict() for what, ratio in of_workload.items()}
                for name, of_workload in self.ratios().items()
            },
        }

    def ratios(self) -> dict[str, dict[str, Ratio]]:
        """Processor time a request of the first side by that of the second: by workload, together and of the server."""
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
        """For people."""
        yield from table([_COLUMNS, *self._rows()])
        yield ""
        for side in self.sides:
            if side.memory is not None:
                yield (
                    f"{side.revision}: {side.memory.total / _MIB:.0f} MiB resident,"
                    f" {side.memory.largest / _MIB:.0f} in the largest process"
                )
        player = max(figures.player for side in self.sides for rounds in side.rounds.values() for figures in rounds)
        yield f"wrk took {player:.0%} of a processor at most: near 100 % it would be wrk that was measured"
        if self.floor is None:
            yield "There is no floor: this PostgreSQL came without pgbench."
        else:
            yield "floor: pgbench + PostgreSQL, the statements that such a request cannot do without"
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
            floor = "-" if self.floor is None else _floor(medians(self.floor[name]))
            for side in self.sides:
                of = medians(side.rounds[name])
                costs = (f"{of.per_second:.0f}", f"{of.server:.0f}", f"{of.database:.0f}", f"{of.both:.0f}")
                yield (name, side.revision, *costs, f"{of.p50:.1f}", f"{of.p99:.1f}", floor)


def medians(rounds: Sequence[_Measured]) -> _Measured:
    """The median of each figure by itself."""
    return type(rounds[0])(
        **{
            part.name: statistics.median(getattr(figures, part.name) for figures in rounds)
            for part in dataclasses.fields(rounds[0])
        }
    )


def compare(first: Iterable[Figures], second: Iterable[Figures], cost: Callable[[Figures], float]) -> Ratio:
    """The ratio of a cost: of each round by itself, as the two were played one right after the other in it."""
    ratios = [cost(one) / cost(other) for one, other in zip(first, second, strict=True)]
    return Ratio(statistics.median(ratios), min(ratios), max(ratios))


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines of columns, the first of them flush left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        yield "  ".join(cells)


def _floor(floor: Floor) -> str:
    return f"{floor.pgbench:.0f} + {floor.database:.0f}"


def _spread(ratio: Ratio) -> str:
    return f"{ratio.median:.3f} ({ratio.lowest:.3f} - {ratio.highest:.3f})"
