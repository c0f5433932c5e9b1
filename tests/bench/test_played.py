"""The output of wrk; a failed run has no figures."""

import json

import pytest

from bench import wrk
from bench.errors import BenchError

OUTPUT = {
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


def output(**values: int) -> str:
    return f"Running 1s test @ http://127.0.0.1:1\n  3000 requests in 1.50s\n{json.dumps(OUTPUT | values)}\n"


def test_figures_are_seconds_and_milliseconds() -> None:
    assert wrk.parse(output()) == wrk.Played(requests=3000, seconds=1.5, p50=8.0, p99=21.5)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"connect": 1}, "connect"),
        ({"read": 2}, "read"),
        ({"write": 3}, "write"),
        ({"timeout": 4}, "timeout"),
        ({"unexpected": 1, "example": 401}, "such as 401"),
        ({"ran_out": 1}, "Too few requests"),
        ({"requests": 0}, "no response"),
    ],
)
def test_failed_requests_are_an_error(values: dict[str, int], message: str) -> None:
    with pytest.raises(BenchError, match=message):
        wrk.parse(output(**values))


def test_missing_output_is_a_failure() -> None:
    with pytest.raises(BenchError, match="no figures"):
        wrk.parse("unable to connect to 127.0.0.1:1 Connection refused\n")
