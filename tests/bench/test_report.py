"""The report: medians of each figure, ratios within each round."""

import pytest

from bench.measure import Figures
from bench.report import Ratio, Run, Side, compare, medians, table


def figures(server: float, database: float = 100.0, **others: float) -> Figures:
    values = {"requests": 1000, "per_second": 900.0, "p50": 8.0, "p99": 20.0, "client": 0.1} | others
    return Figures(server=server, database=database, **values)  # type: ignore[arg-type]


@pytest.fixture
def run() -> Run:
    sides = [
        Side("abc", {"get": [figures(300), figures(500), figures(400)]}),
        Side("def", {"get": [figures(700), figures(1100), figures(900)]}),
    ]
    return Run(sides)


def test_medians_are_of_each_figure() -> None:
    middle = medians([figures(1, 30), figures(2, 10), figures(9, 20)])

    assert (middle.server, middle.database, middle.both) == (2, 20, 22)


def test_a_ratio_is_taken_within_a_round() -> None:
    # Round by round 2, 0.5 and 1; the ratio of the medians would be 2.
    ratio = compare([figures(2), figures(2), figures(1)], [figures(1), figures(4), figures(1)], lambda f: f.server)

    assert ratio == Ratio(median=1, lowest=0.5, highest=2)


def test_sides_need_the_same_number_of_rounds() -> None:
    with pytest.raises(ValueError, match="shorter"):
        compare([figures(2), figures(2)], [figures(1)], lambda f: f.server)


def test_two_revisions_are_compared(run: Run) -> None:
    assert run.ratios()["get"]["both"] == Ratio(0.5, 0.5, 0.5)
    assert "get       0.500 (0.500 - 0.500)  0.444 (0.429 - 0.455)" in list(run.lines())


def test_one_revision_has_no_ratios(run: Run) -> None:
    run.sides = run.sides[:1]

    assert run.ratios() == {}


def test_the_table_has_a_line_for_each_workload_and_revision(run: Run) -> None:
    _, first, second, *_ = run.lines()

    assert first.split() == ["get", "abc", "900", "400", "100", "500", "8.0", "20.0"]
    assert second.split()[:5] == ["get", "def", "900", "900", "100"]


def test_the_report_has_the_load_of_wrk(run: Run) -> None:
    run.sides[1].rounds["get"][2] = figures(900, client=0.97)

    assert any(line.startswith("wrk took 97% of a processor") for line in run.lines())


def test_columns_line_up() -> None:
    assert list(table([("a", "b"), ("long", "1")])) == ["a     b", "long  1"]
