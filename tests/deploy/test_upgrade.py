"""A release with a new column goes in, and out again, while partners write: docs/operations.md, "Upgrading".

Two units behind the proxy on one database; the runbook's steps, one after the other.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.conf import settings

from tests.deploy.asking import over_tls
from tests.deploy.proxy import running
from tests.deploy.test_restarts import BETWEEN, Tally, Units, clients
from tests.resilience.cluster import Cluster, own_cluster
from tests.support.client import PartnerClient
from tests.support.timeouts import WAIT_SECONDS
from tests.support.watched import wait_until

MODEL, BEFORE = "users/models/user.py", '    status = models.CharField(_("status")'
COLUMN = '    nickname = models.CharField("nickname", max_length=50, blank=True, db_default="none")\n'


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with own_cluster() as cluster:
        yield cluster


@pytest.fixture
def release(tmp_path: Path, cluster: Cluster) -> Path:
    """The next release, in its own folder: this one with a column more, and the migration that Django makes for it."""
    folder = tmp_path / "release"
    ignored = shutil.ignore_patterns(".git", ".venv", ".local", "__pycache__", ".*_cache")
    shutil.copytree(settings.BASE_DIR, folder, ignore=ignored)
    model = folder / MODEL
    assert model.read_text().count(BEFORE) == 1
    model.write_text(model.read_text().replace(BEFORE, COLUMN + BEFORE))
    manage(folder, cluster, "makemigrations", "users", "--name", "nickname")
    return folder


def manage(folder: Path, cluster: Cluster, *arguments: str, **environment: str) -> str:
    ended = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=folder,
        env=os.environ | cluster.environment | environment,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def more(tally: Tally) -> None:
    """Wait for more responses, so that requests are in progress at each step."""
    enough = tally.responses + BETWEEN
    wait_until(lambda: tally.responses >= enough)


def test_a_release_with_a_new_column_loses_no_write(nginx: str, cluster: Cluster, release: Path) -> None:
    old = Path(settings.BASE_DIR)
    units = Units(DATABASE_URL=cluster.url)
    try:
        with running(nginx, units.ports) as proxy:
            api = cluster.client(over_tls(proxy))
            with clients(proxy, api) as tally:
                more(tally)
                manage(release, cluster, "migrate", PGOPTIONS="-c lock_timeout=3s")
                more(tally)
                # In, and out again: the schema stays.
                for checkout in (release, old):
                    units.checkout = checkout
                    for number in (0, 1):
                        units.restart(number)
                        more(tally)
            print(f"a column, and 4 restarts: {tally}")  # noqa: T201 - shown with -s
            assert tally.failed.keys() <= {"POST 503"}
            # granian had not accepted them when it closed its port; under their key they succeed.
            assert tally.failed.total() <= 4
            assert_all_are_there_once(api, cluster, tally)
    finally:
        units.stop()


def assert_all_are_there_once(api: PartnerClient, cluster: Cluster, tally: Tally) -> None:
    """Repeat what failed under its key; then all users are there once, with the new column's default."""
    for key, user in tally.unsure.items():
        assert api.post("/v1/users", user, key=key).status == 201
        tally.created.add(str(user["externalId"]))
    with psycopg.connect(cluster.url) as connection:
        stored = connection.execute("SELECT external_id, nickname FROM users_user").fetchall()
    assert len(stored) == len(tally.created) > BETWEEN
    assert set(stored) == {(external_id, "none") for external_id in tally.created}
