"""The folder in which the workers' metrics lie, each worker's in files of its own, and their sum.

The master clears it at each start (config/server/internal_port.py) and names it in the environment for
prometheus_client.
"""

import fcntl
import os
import threading
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from partners.monitoring.prometheus_internals import move_counts

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
# What counters and histograms of ended workers have come to: their files end like a process number's.
ENDED = "ended"

# A file of each process beside those of its metrics; it is locked while the process lives.
MARKER_SUFFIX = ".process"
SERVING = b"serving"
SERVING_STAFF = b"staff"

_mark: int | None = None
_one_at_a_time = threading.Lock()


def exposition(*further: Collector) -> bytes:
    """All workers' metrics together, those of ended ones included, in Prometheus' text format.

    further: collectors of what is counted nowhere here.
    """
    with _one_at_a_time:
        for process, files in _files().items():
            if not _lives(_marker(process)):
                _fold(process, files)
        registry = CollectorRegistry()
        MultiProcessCollector(registry, path=str(_folder()))  # type: ignore[no-untyped-call]
        for collector in further:
            registry.register(collector)
        return generate_latest(registry)


def mark_living() -> None:
    """Shows that this process lives, to others that look into the folder, until it ends in whatever way.

    Called before it counts anything. By a lock, which the kernel gives up with the process: a process number says
    little, since another process, or another account's, can get it.
    """
    global _mark  # noqa: PLW0603 - the process's one, open as long as the process lives
    _mark = os.open(_marker(os.getpid()), os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    fcntl.flock(_mark, fcntl.LOCK_EX)


def mark_serving(*, for_staff: bool) -> None:
    """Shows that this process has loaded the service and answers requests. Nothing where nobody counts workers.

    for_staff: whether partners' requests go elsewhere.
    """
    if _mark is not None:
        os.write(_mark, SERVING_STAFF if for_staff else SERVING)


def serving_workers(*, for_staff: bool = False) -> int:
    """How many workers there are that answer partners' requests, or those of staff alone."""
    wanted = SERVING_STAFF if for_staff else SERVING
    return sum(_lives(marker) and _content(marker) == wanted for marker in _folder().glob(f"*{MARKER_SUFFIX}"))


def _content(marker: Path) -> bytes:
    with suppress(FileNotFoundError):  # it has ended since
        return marker.read_bytes()
    return b""


def _folder() -> Path:
    return Path(os.environ[VARIABLE])


def _files() -> dict[int, list[Path]]:
    """The files of each process: `counter_123.db`."""
    found: dict[int, list[Path]] = {}
    for file in _folder().glob("*.db"):
        process = file.stem.rpartition("_")[2]
        if process != ENDED:
            found.setdefault(int(process), []).append(file)
    return found


def _marker(process: int) -> Path:
    return _folder() / f"{process}{MARKER_SUFFIX}"


def _lives(marker: Path) -> bool:
    try:
        with marker.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        pass
    return False


def _fold(process: int, files: list[Path]) -> None:
    """Adds what an ended worker has counted to what others had: a total never falls, and files do not pile up."""
    mark_process_dead(process, path=str(_folder()))  # type: ignore[no-untyped-call]
    for file in files:
        kind = file.stem.rpartition("_")[0]
        with suppress(FileNotFoundError):  # a gauge's, just removed
            move_counts(file, file.with_name(f"{kind}_{ENDED}.db"))
    _marker(process).unlink(missing_ok=True)
