"""Plays requests by wrk."""

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
    """What wrk saw. seconds: how long it played; p50, p99: of a request, in milliseconds."""

    requests: int
    seconds: float
    p50: float
    p99: float


def play(file: Path, *, port: int, seconds: int, connections: int, cycle: bool, statuses: tuple[int, ...]) -> Played:
    """Plays a file of signed requests against 127.0.0.1, over connections that stay open.

    cycle: whether it may be played more than once. statuses: what answers may have.
    Raises BenchError where a request failed, or the file was too short.
    """
    command = ["wrk", "-t", "1", "-c", str(connections), "-d", f"{seconds}s", "--timeout", "10s"]
    command += ["-s", str(_SCRIPT), f"http://127.0.0.1:{port}", "--", str(file), "cycle" if cycle else "once"]
    done = subprocess.run([*command, *map(str, statuses)], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise BenchError(f"wrk failed: {(done.stderr or done.stdout).strip()[-2000:]}")
    return parse(done.stdout)


def parse(output: str) -> Played:
    """What wrk printed, play.lua's line of JSON among it. Raises BenchError where it tells of failures."""
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if not lines:
        raise BenchError(f"wrk printed no figures: {output.strip()[-2000:]}")
    told: dict[str, Any] = json.loads(lines[-1])
    if failed := {name: told[name] for name in _SOCKET_ERRORS if told[name]}:
        raise BenchError(f"Connections failed: {failed}")
    if told["unexpected"]:
        raise BenchError(f"{told['unexpected']} answers had another status, such as {told['example']}.")
    if told["ran_out"]:
        raise BenchError("The requests were used up: nothing is sent twice that writes.")
    if not told["requests"]:
        raise BenchError("No request was answered.")
    return Played(told["requests"], told["microseconds"] / 1e6, told["p50"] / 1e3, told["p99"] / 1e3)
