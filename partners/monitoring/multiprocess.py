"""The folder with the metrics of all workers, and their sum.

Each start of the service makes one and names it in the environment (config/serve.py).
"""

import fcntl
import os
import threading
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

# Each process has a marker file, locked while it lives.
MARKER_SUFFIX = ".process"
SERVING = b"serving"
SERVING_STAFF = b"staff"

_mark: int | None = None
_lock = threading.Lock()


def exposition(*further: Collector) -> bytes:
    """The sum over all workers, ended ones included, in Prometheus' text format. further: collectors to add."""
    with _lock:
        for gauges in _folder().glob("gauge_*.db"):
            process = int(gauges.stem.rpartition("_")[2])
            if not _is_alive(_marker(process)):
                # The other files, with its counts, stay until the service's next start: totals never fall.
                mark_process_dead(process, path=str(_folder()))  # type: ignore[no-untyped-call]
                _marker(process).unlink(missing_ok=True)
        registry = CollectorRegistry()
        MultiProcessCollector(registry, path=str(_folder()))  # type: ignore[no-untyped-call]
        for collector in further:
            registry.register(collector)
        return generate_latest(registry)


def mark_living() -> None:
    """Mark this process as alive, before it counts anything, by a file lock that the kernel releases at its end."""
    global _mark  # noqa: PLW0603 - stays open as long as the process lives
    _mark = os.open(_marker(os.getpid()), os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    fcntl.flock(_mark, fcntl.LOCK_EX)


def mark_serving(*, for_staff: bool) -> None:
    """Mark this process as answering requests, if metrics are kept. for_staff: those of staff only."""
    if _mark is not None:
        os.write(_mark, SERVING_STAFF if for_staff else SERVING)


def serving_workers(*, for_staff: bool = False) -> int:
    """The number of workers that serve partners, or of those that serve staff only."""
    wanted = SERVING_STAFF if for_staff else SERVING
    return sum(_is_alive(marker) and _content(marker) == wanted for marker in _folder().glob(f"*{MARKER_SUFFIX}"))


def _content(marker: Path) -> bytes:
    with suppress(FileNotFoundError):  # ended meanwhile
        return marker.read_bytes()
    return b""


def _folder() -> Path:
    return Path(os.environ[VARIABLE])


def _marker(process: int) -> Path:
    return _folder() / f"{process}{MARKER_SUFFIX}"


def _is_alive(marker: Path) -> bool:
    try:
        with marker.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        pass
    return False
