"""The benchmark: what it sends is signed, and what failed has no figures. CI runs it (`make bench BENCH=--smoke`)."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.__main__ import READS, WRITES, BenchError, Figures, Side, make, report
from config.embedded.server import EmbeddedServer
from partners.authentication import signatures

USER = "/v1/users/demo-0001"
TARGETS = {name: [f"{USER}/transactions?cursor=2026-01-15T10%3A30%3A00Z&limit=25"] for name in READS} | {"get": [USER]}
PLAYED = {"requests": 3000, "microseconds": 1_500_000, "p50": 8000, "p99": 21_500}
NO_FAILURES = dict.fromkeys(("connect", "read", "write", "timeout", "unexpected", "example", "ran_out"), 0)


@pytest.fixture
def side(tmp_path: Path) -> Side:
    side = Side("checkout", tmp_path, sys.executable, EmbeddedServer(tmp_path), tmp_path)
    side.secret, side.targets = "psi_secret_bench", TARGETS
    return side


@pytest.mark.parametrize("workload", READS + WRITES)
def test_each_request_is_signed_as_it_is_sent(side: Side, workload: str) -> None:
    method, target, body = make(workload, TARGETS)
    headers = side.headers(method, target, body)
    path, _, query = target.partition("?")
    timestamp, key = headers["X-Request-Timestamp"], headers.get("Idempotency-Key", "")
    canonical = signatures.canonical_request(method, path.encode(), query.encode(), timestamp, key, body)
    assert signatures.verify(side.secret, canonical, headers["X-Request-Signature"])
    assert int(headers.get("Content-Length", 0)) == len(body)


@pytest.mark.parametrize("workload", ["create", "update"])
def test_no_write_is_repeated(side: Side, workload: str) -> None:
    bodies = [make(workload, TARGETS)[2] for _ in range(100)]
    assert len(set(bodies)) == 100
    assert len({side.headers("POST", "/v1/users", body)["Idempotency-Key"] for body in bodies}) == 100


@pytest.fixture
def wrk(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has wrk print figures; without any, none at all."""

    def prints(**values: int) -> None:
        line = json.dumps(PLAYED | NO_FAILURES | values) if values else "unable to connect"
        monkeypatch.setattr("bench.__main__.run", lambda *_: f"Running 1s test\n{line}\n")
        seconds = iter((1.0, 2.0, 4.0, 2.6))
        monkeypatch.setattr("bench.__main__.seconds_of_tree", lambda _: next(seconds))

    return prints


def test_figures_are_microseconds_a_request(side: Side, wrk: Any) -> None:
    wrk(requests=3000)
    assert side.measure("list", 1) == pytest.approx(Figures(2000, 1000, 200, 21.5))


@pytest.mark.parametrize("values", [{}, {"requests": 0}, *({name: 1} for name in NO_FAILURES)], ids=str)
def test_a_failed_request_is_an_error(side: Side, wrk: Any, values: dict[str, int]) -> None:
    wrk(**values)
    with pytest.raises(BenchError, match="Requests failed"):
        side.measure("list", 1)


def test_two_revisions_are_compared_within_each_round(side: Side) -> None:
    other = Side("main", *(getattr(side, name) for name in ("folder", "python", "postgres", "home")))
    side.rounds = {"get": [Figures(900, 600, 200, 9), Figures(800, 700, 300, 12), Figures(850, 650, 250, 10)]}
    other.rounds = {"get": [Figures(900, 800, 200, 9), Figures(800, 750, 250, 12), Figures(850, 900, 100, 10)]}
    *_, last = report([side, other])
    assert last.split() == ["get", "0.900", "(0.800", "-", "1.000)"]
