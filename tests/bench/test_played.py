"""What wrk and pgbench print is read, and a run that failed is none."""

import json

import pytest

from bench import floor, wrk
from bench.errors import BenchError

TOLD = {
    "requests": 3000,
    "microseconds": 1_500_000,
    "p50": 8000,
    "p99": 21_500,
    "connect": 0,
    "read": 0,
    "write": 0,
    "timeout": 0,
    "unexpected": 0,
    "example": 0,
    "ran_out": 0,
}


def output(**told: int) -> str:
    return f"Running 1s test @ http://127.0.0.1:1\n  3000 requests in 1.50s\n{json.dumps(TOLD | told)}\n"


def test_figures_are_seconds_and_milliseconds() -> None:
    assert wrk.parse(output()) == wrk.Played(requests=3000, seconds=1.5, p50=8.0, p99=21.5)


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"connect": 1}, "connect"),
        ({"read": 2}, "read"),
        ({"write": 3}, "write"),
        ({"timeout": 4}, "timeout"),
        ({"unexpected": 1, "example": 401}, "such as 401"),
        ({"ran_out": 1}, "used up"),
        ({"requests": 0}, "No request was answered"),
    ],
)
def test_a_failure_is_not_a_figure(told: dict[str, int], says: str) -> None:
    with pytest.raises(BenchError, match=says):
        wrk.parse(output(**told))


def test_silence_is_a_failure() -> None:
    with pytest.raises(BenchError, match="no figures"):
        wrk.parse("unable to connect to 127.0.0.1:1 Connection refused\n")


def test_pgbench_counts_transactions() -> None:
    text = (
        "scaling factor: 1\nnumber of transactions actually processed: 512\n"
        "number of failed transactions: 0 (0.000%)\ntps = 498.125000 (without initial connection time)\n"
    )

    assert floor.parse(text) == (512, 498.125)


def test_pgbench_without_a_transaction_is_a_failure() -> None:
    with pytest.raises(BenchError):
        floor.parse("number of transactions actually processed: 0\ntps = 0.0\n")
