"""The folder in which the workers' metrics lie, each worker's in files of its own, and their sum.

The master makes it anew at each start (config/internal.py) and names it in the environment, where prometheus_client
looks for it.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
# What counters and histograms of ended workers have come to: their files end like a process number's.
ENDED = "ended"

_one_at_a_time = threading.Lock()


def exposition(*further: Collector) -> bytes:
    """All workers' metrics together, those of ended ones included, in Prometheus' text format.

    further: collectors of what is counted nowhere here.
    """
    with _one_at_a_time:
        for process, files in _files().items():
            if not _lives(process):
                _fold(process, files)
        registry = CollectorRegistry()
        MultiProcessCollector(registry, path=str(_folder()))  # type: ignore[no-untyped-call]
        for collector in further:
            registry.register(collector)
        return generate_latest(registry)


def living_workers() -> int:
    """How many workers there are that have loaded the service."""
    return sum(map(_lives, _files()))


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


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _fold(process: int, files: list[Path]) -> None:
    """Adds what an ended worker has counted to what others had: a total never falls, and files do not pile up."""
    mark_process_dead(process, path=str(_folder()))  # type: ignore[no-untyped-call]
    for file in files:
        kind = file.stem.rpartition("_")[0]
        with suppress(FileNotFoundError):  # a gauge's, just removed
            values = list(_values(file))
            ended = MmapedDict(str(file.with_name(f"{kind}_{ENDED}.db")))  # type: ignore[no-untyped-call]
            for key, value in values:
                so_far, _ = ended.read_value(key)  # type: ignore[no-untyped-call]
                ended.write_value(key, so_far + value, 0.0)  # type: ignore[no-untyped-call]
            ended.close()  # type: ignore[no-untyped-call]
            file.unlink()


def _values(file: Path) -> Iterator[tuple[str, float]]:
    for key, value, *_ in MmapedDict.read_all_values_from_file(str(file)):  # type: ignore[no-untyped-call]
        yield key, value
