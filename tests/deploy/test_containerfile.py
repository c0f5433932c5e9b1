"""The Containerfile: what its image has and starts."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATH = ROOT / "deploy" / "Containerfile"
CONTAINERFILE = PATH.read_text()


def test_the_image_has_the_service_and_nothing_else_of_the_checkout() -> None:
    sources = set(re.findall(r"^COPY (?!--from)(\S+)", CONTAINERFILE, re.MULTILINE))
    assert all((ROOT / source).exists() for source in sources)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(project["tool"]["importlinter"]["root_packages"]) - {"demo"} <= sources
    assert not {".", ".env", "tests", "docs", "requirements", "demo"} & sources


def test_the_image_starts_the_server_without_privileges() -> None:
    for line in ("USER 10001:10001", 'ENTRYPOINT ["/srv/psi/.venv/bin/python"]', 'CMD ["-m", "config.serve"]'):
        assert line in CONTAINERFILE.splitlines()
    assert subprocess.run([sys.executable, "-c", "import config.serve"], cwd=ROOT, check=False).returncode == 0


def test_a_linter_of_such_files_has_nothing_to_say() -> None:
    # DL3008: Debian removes the versions that one would name.
    command = [str(Path(sys.executable).with_name("hadolint")), "--ignore", "DL3008", str(PATH)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "")


def test_the_image_can_be_built() -> None:
    engines = ("podman", "docker")
    running = [
        name
        for name in engines
        if shutil.which(name) and subprocess.run([name, "info"], capture_output=True, check=False).returncode == 0
    ]
    if not running:
        pytest.skip("needs podman or docker")
    command = [running[0], "build", "--quiet", "--file", str(PATH), str(ROOT)]
    assert subprocess.run(command, check=False).returncode == 0
