"""Sends requests by wrk."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.errors import BenchError

_SCRIPT = Path(__file__).with_name("play.lua")
_SOCKET_ERRORS = ("connect", "read", "write", "timeout")


@dataclass(frozen=True, slots=True)
class Played:
    """wrk's result. p50, p99: in milliseconds."""

    requests: int
    seconds: float
    p50: float
    p99: float


def play(file: Path, *, port: int, seconds: int, connections: int, cycle: bool, statuses: tuple[int, ...]) -> Played:
    """Send a file of signed requests to 127.0.0.1, over connections that stay open.

    cycle: whether to repeat the file. statuses: expected ones. Raises BenchError if a request fails, or there are too
    few requests.
    """
    command = ["wrk", "-t", "1", "-c", str(connections), "-d", f"{seconds}s", "--timeout", "10s"]
    command += ["-s", str(_SCRIPT), f"http://127.0.0.1:{port}", "--", str(file), "cycle" if cycle else "once"]
    done = subprocess.run([*command, *map(str, statuses)], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise BenchError(f"wrk failed: {(done.stderr or done.stdout).strip()[-2000:]}")
    return parse(done.stdout)


def parse(output: str) -> Played:
    """Read wrk's output, with play.lua's line of JSON. Raises BenchError if requests failed."""
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if not lines:
        raise BenchError(f"wrk printed no figures: {output.strip()[-2000:]}")
    result: dict[str, Any] = json.loads(lines[-1])
    if failed := {name: result[name] for name in _SOCKET_ERRORS if result[name]}:
        raise BenchError(f"Connections failed: {failed}")
    if result["unexpected"]:
        raise BenchError(f"{result['unexpected']} responses had an unexpected status, such as {result['example']}.")
    if result["ran_out"]:
        raise BenchError("Too few requests were prepared; writes are not repeated.")
    if not result["requests"]:
        raise BenchError("There was no response.")
    return Played(result["requests"], result["microseconds"] / 1e6, result["p50"] / 1e3, result["p99"] / 1e3)
