"""A release with a new column goes in, and out again, while partners write: docs/operations.md, "Upgrading".

The units behind the proxy on one database; the runbook's commands as they are printed, but systemd's.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import psycopg
import pytest
from django.conf import settings

from tests.deploy.asking import over_tls
from tests.deploy.proxy import NAME, running
from tests.deploy.test_restarts import BETWEEN, clients
from tests.deploy.test_units import UNITS
from tests.resilience.cluster import Cluster, own_cluster
from tests.resilience.load import Tally
from tests.slow.live.conftest import free_port
from tests.support.timeouts import WAIT_SECONDS
from tests.support.watched import wait_until

RUNBOOK = Path(settings.BASE_DIR, "docs/operations.md")
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


def printed(after: str) -> str:
    """The first commands of the runbook after these words."""
    found = re.search(r"```sh\n(.*?)```", RUNBOOK.read_text().partition(after)[2], re.DOTALL)
    assert found
    return found[1]


class Machine:
    """The runbook's commands as they are printed, on other folders and ports, with systemctl.py for systemd."""

    def __init__(self, folder: Path, cluster: Cluster, release: Path) -> None:
        self.ports = {str(port): str(free_port()) for port in (8001, 8002, 9001, 9002)}
        self._folder = folder
        for name in ("srv", "etc", "bin", "pids"):
            (folder / name).mkdir()
        (folder / "srv/psi-2026.11.20").symlink_to(settings.BASE_DIR)
        (folder / "srv/psi-2026.12.01").symlink_to(release)
        (release / ".venv").symlink_to(sys.prefix)
        (folder / "srv/psi").symlink_to(folder / "srv/psi-2026.11.20")
        shutil.copytree(UNITS, folder / "units")
        for unit in (file for file in (folder / "units").rglob("*") if file.is_file()):
            unit.write_text(self._here(unit.read_text()))
        environment = cluster.environment | {"ALLOWED_HOSTS": NAME}
        owner = {"OWNER_DATABASE_URL": environment.pop("OWNER_DATABASE_URL"), "PGOPTIONS": "-c lock_timeout=3s"}
        for name, values in (("environment", environment), ("owner", owner)):
            (folder / "etc" / name).write_text("".join(f"{key}={quote(value)}\n" for key, value in values.items()))
        (folder / "systemctl.py").write_text(
            f"#!{sys.executable}\n{Path(__file__).with_name('systemctl.py').read_text()}"
        )
        (folder / "systemctl.py").chmod(0o755)
        for name in ("systemctl", "systemd-run"):
            (folder / "bin" / name).symlink_to(folder / "systemctl.py")

    def _here(self, text: str) -> str:
        text = text.replace("/srv/psi", f"{self._folder}/srv/psi").replace("/etc/psi", f"{self._folder}/etc")
        return re.sub("|".join(self.ports), lambda port: self.ports[port[0]], text)

    def run(self, commands: str) -> str:
        """Run them; a failing one ends them. Return what they print."""
        ended = subprocess.run(
            ["bash", "-euc", self._here(printed("`manage`, for root's shell") + commands)],
            env=os.environ | {"PATH": f"{self._folder}/bin:{os.environ['PATH']}", "USER": "root"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=4 * WAIT_SECONDS,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout
        return ended.stdout


def test_a_release_with_a_new_column_loses_no_write(
    nginx: str, cluster: Cluster, release: Path, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, cluster, release)
    # The check of a database without staff has errors, after all else.
    upgrade = printed("## Upgrading without downtime").replace(
        "--database default", "--database default || test $? = 1"
    )
    loop = upgrade[upgrade.index("for unit in") : upgrade.index("manage check")]
    start = re.search("systemctl enable --now .*", RUNBOOK.read_text())
    assert start
    try:
        machine.run(start[0])
        serve, staff = ([int(machine.ports[port]) for port in ports] for ports in (("8001", "8002"), ("9001", "9002")))
        with running(nginx, serve, for_staff=staff) as proxy:
            api = cluster.client(over_tls(proxy))
            with clients(proxy, api, cluster.url) as tally:
                more(tally)
                said = machine.run(upgrade)
                assert (said.count('"status": "ok"'), "users.0002_nickname" in said) == (4, True), said
                assert "System check identified" in said
                more(tally)
                # In, and out again: the schema stays.
                said = machine.run(f"ln -sfn /srv/psi-2026.11.20 /srv/psi\n{loop}")
                assert said.count('"status": "ok"') == 4, said
                more(tally)
            assert not tally.failures
            assert tally.refused.keys() <= {"POST 503", "PATCH 503"}
            # granian had not accepted them when it closed its port; under their key they succeed.
            assert tally.refused.total() <= 4
            with psycopg.connect(cluster.url) as connection:
                found = connection.execute("SELECT nickname, count(*) > %s FROM users_user GROUP BY 1", [BETWEEN // 4])
                assert found.fetchall() == [("none", True)]
    finally:
        machine.run(start[0].replace("enable --now", "stop"))
