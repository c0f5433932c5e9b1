"""The format of prometheus_client's files, which partners/monitoring/prometheus_internals.py relies on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from partners.monitoring.prometheus_internals import move_counts

COUNT = "from prometheus_client import Counter; Counter('things', 'Things.', ['kind']).labels('a').inc({})"


def exposed(folder: Path) -> list[str]:
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(folder))  # type: ignore[no-untyped-call]
    return [line for line in generate_latest(registry).decode().splitlines() if line.startswith("things")]


def test_the_counts_of_ended_processes_add_up_in_one_file(tmp_path: Path) -> None:
    ended = tmp_path / "counter_ended.db"
    for count in (2, 3):
        environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
        subprocess.run([sys.executable, "-c", COUNT.format(count)], env=environment, check=True)
        (file,) = (file for file in tmp_path.glob("*.db") if file != ended)
        move_counts(file, ended)
    assert [*tmp_path.iterdir()] == [ended]
    assert exposed(tmp_path) == ['things_total{kind="a"} 5.0']


def test_a_file_that_is_not_there_is_an_error_and_makes_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        move_counts(tmp_path / "counter_1.db", tmp_path / "counter_ended.db")
    assert not [*tmp_path.iterdir()]
