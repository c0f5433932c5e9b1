"""A separate Redis that a test may stop."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import RedisError

from tests.support.watched import wait_until


@contextmanager
def own_redis(port: int, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A running redis-server at a port of this machine; the test is left out where there is no such program."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("There is no redis-server.")
    process = subprocess.Popen(
        [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)],
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for_redis(port)
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for_redis(port: int) -> None:
    """Waits until it answers."""
    with Redis(port=port) as client:
        wait_until(lambda: _answers(client))


def _answers(client: "Redis") -> bool:
    try:
        return bool(client.ping())
    except RedisError:
        return False
