"""The embedded PostgreSQL is started by the first process, shared, and stopped by the last."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest
from django.conf import settings

from config.embedded.server import (
    DATABASE,
    OWNER_ROLE,
    SERVICE_ROLE,
    SHORT_FOLDER,
    EmbeddedServer,
    EmbeddedServerError,
)
from config.setting_types import database
from tests.support.watched import wait_until

# Uses the server until standard input ends.
JOIN = (
    "import sys, psycopg; from pathlib import Path; from config.embedded.server import *;"
    "s = EmbeddedServer(Path(sys.argv[1])); s.ensure_running();"
    "psycopg.connect(s.url(SERVICE_ROLE)).execute('SELECT 1'); print('joined', flush=True); sys.stdin.read()"
)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Not pytest's own, which other accounts, such as the server's, cannot read."""
    with tempfile.TemporaryDirectory(prefix="psi-embedded-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with temporary_folder() as folder:
        yield folder


def member(folder: Path) -> "subprocess.Popen[str]":
    """Start a process that uses the server."""
    return subprocess.Popen(
        [sys.executable, "-c", JOIN, str(folder)],
        cwd=settings.BASE_DIR,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def joined(process: "subprocess.Popen[str]") -> bool:
    assert process.stdout is not None
    return process.stdout.readline() == "joined\n"


def leave(process: "subprocess.Popen[str]") -> int:
    process.communicate("")
    return process.returncode


def postmaster(folder: Path) -> int | None:
    """Return the server's process number, if it runs."""
    try:
        pid = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        return pid if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE else None
    except (FileNotFoundError, psutil.NoSuchProcess):
        return None


@pytest.fixture(scope="module")
def cluster() -> Iterator[Path]:
    """The folder of a cluster, which takes longer to create than to start."""
    with temporary_folder() as folder:
        yield folder / "postgres"


@pytest.fixture
def folder(cluster: Path) -> Iterator[Path]:
    """The folder of a server that is stopped at the end."""
    yield cluster
    assert EmbeddedServer(cluster).stop()


def test_concurrent_processes_create_and_share_one_server_until_the_last_ends(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    members = [member(folder) for _ in range(3)]
    assert all(joined(process) for process in members)
    running = postmaster(folder)
    assert [leave(process) for process in members[:2]] == [0, 0]
    assert postmaster(folder) == running is not None
    assert leave(members[2]) == 0
    assert postmaster(folder) is None


def test_a_killed_process_does_not_keep_the_server_running(folder: Path) -> None:
    killed, other = member(folder), member(folder)
    assert joined(killed)
    assert joined(other)
    killed.kill()
    killed.communicate()
    assert postmaster(folder) is not None
    assert leave(other) == 0
    assert postmaster(folder) is None


def test_a_killed_server_is_restarted_with_its_committed_data(folder: Path) -> None:
    server = EmbeddedServer(folder)
    server.ensure_running()
    with psycopg.connect(server.url(OWNER_ROLE)) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS seven")
    pid = postmaster(folder)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: postmaster(folder) is None)
    server.ensure_running()
    with psycopg.connect(server.url(OWNER_ROLE)) as connection:
        assert connection.execute("SELECT seven FROM kept").fetchone() == (7,)
    server.leave()


DEEP = "\N{KATAKANA LETTER DE}" * 30


def test_a_socket_is_in_the_short_folder_where_its_path_is_long_or_has_a_comma() -> None:
    names = ("postgres", "of O'Brien", "one,two", DEEP, "deep" * 20)
    in_short = {name: EmbeddedServer(Path("/srv", name)).socket_folder.parent == SHORT_FOLDER for name in names}
    assert in_short == {"postgres": False, "of O'Brien": False, "one,two": True, DEEP: True, "deep" * 20: True}


@pytest.mark.parametrize("name", ["My 100% a&b of O'Brien +#?", f"one,two {DEEP}"])
def test_a_checkout_may_be_in_a_folder_of_any_name(name: str, tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path / name / "postgres")
    try:
        server.ensure_running()
        with psycopg.connect(server.url(SERVICE_ROLE)) as connection:
            row = connection.execute(
                "SELECT current_user, current_setting('server_version_num')::int / 10000"
            ).fetchone()
        assert row == (SERVICE_ROLE, 18)
    finally:
        server.leave()
        if server.socket_folder != server.data:
            shutil.rmtree(server.socket_folder)
    setting = database(server.url(SERVICE_ROLE))
    assert (setting["HOST"], setting["NAME"], setting["USER"]) == (str(server.socket_folder), DATABASE, SERVICE_ROLE)


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[EmbeddedServer]:
    """A server whose socket is in a short folder, which does not exist."""
    server = EmbeddedServer(tmp_path / ("deep" * 20) / "postgres")
    server.folder.mkdir(parents=True)
    assert server.socket_folder.parent == SHORT_FOLDER
    yield server
    if server.socket_folder.is_dir() and not server.socket_folder.is_symlink():
        shutil.rmtree(server.socket_folder)
    else:
        server.socket_folder.unlink(missing_ok=True)


def test_the_short_folder_is_the_owners_alone_whatever_tmpdir_is(
    deep: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("deep" * 30)))
    assert EmbeddedServer(deep.folder).socket_folder == deep.socket_folder
    deep.make_reachable()
    deep.make_reachable()
    assert stat.S_IMODE(deep.socket_folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("found", ["a link", "a file", "a folder for everybody"])
def test_what_another_account_may_have_put_there_is_not_used(found: str, deep: EmbeddedServer, tmp_path: Path) -> None:
    target, place = tmp_path / "target", deep.socket_folder
    target.mkdir(mode=0o700)
    owner = target.stat().st_uid
    if found == "a link":
        place.symlink_to(target)
    elif found == "a file":
        place.touch(mode=0o700)
    else:
        place.mkdir()
        place.chmod(0o777)
    with pytest.raises(EmbeddedServerError, match="alone"):
        deep.make_reachable()
    assert target.stat().st_uid == owner


def test_a_server_in_use_is_not_stopped(folder: Path) -> None:
    user = member(folder)
    assert joined(user)
    assert EmbeddedServer(folder).stop() is False
    assert postmaster(folder) is not None
    user.kill()
    user.communicate()
    assert EmbeddedServer(folder).stop() is True
    assert postmaster(folder) is None
