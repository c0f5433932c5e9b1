"""What `make test` and `make test-pythons` themselves do."""

import os
import re
import subprocess
import sys
from pathlib import Path

from django.conf import settings

ROOT = Path(settings.BASE_DIR)


def test_names_of_failures_are_the_last_lines_and_are_kept_over_further_runs(tmp_path: Path) -> None:
    tests = tmp_path / "test_x.py"
    (tmp_path / "pytest.ini").touch()
    for text in ("def test_first(): assert 0, 'why'\ndef test_then(nothing): pass", "def test_right(): pass"):
        tests.write_text(text)
        command = [sys.executable, "-m", "pytest", "-ra", "-p", "xdist", "-n", "1", "-p", "tests.support.kept_failures"]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        # With it pytest tells a failure's whole text, in several lines.
        environment.pop("CI", None)
        ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode == int("test_first" in text), ended.stdout + ended.stderr
        if ended.returncode:
            *_, error, failure, _ = ended.stdout.splitlines()
            assert error.startswith("ERROR test_x.py::test_then")
            assert failure.startswith("FAILED test_x.py::test_first")
    kept = (tmp_path / ".local" / "failed-tests.log").read_text()
    assert re.findall(r"^\S+ \S+ test_x.py::(\w+)$", kept, re.MULTILINE) == ["test_then", "test_first"]
    assert "AssertionError: why" in kept


def interpreter(file: Path, said: str, status: int = 0) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'#!/bin/sh\necho "{said}"; exit {status}\n')
    file.chmod(0o755)


def found(*options: str, path: Path, home: Path) -> list[str]:
    command = [sys.executable, str(ROOT / "tests" / "pythons.py"), *options]
    environment = {"PATH": str(path), "HOME": str(home)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


def test_each_minor_version_from_3_11_on_is_found_once_in_its_latest_release(tmp_path: Path) -> None:
    path, pyenv = tmp_path / "my programs", tmp_path / ".pyenv" / "versions"
    interpreter(path / "python3", "3 11 2 /usr/my programs/python3")
    interpreter(path / "python3.9", "3 9 1 /usr/bin/python3.9")
    # A pre-release; one without venv; and a shim of a version that is not chosen.
    interpreter(path / "python3.15", "")
    interpreter(path / "python3.14", "No module named ensurepip", status=1)
    interpreter(path / "python3.12", "pyenv: python3.12: command not found", status=127)
    interpreter(path / "python3.13-config", "3 13 9 /usr/bin/config")
    interpreter(pyenv / "3.11.7" / "bin" / "python3", "3 11 7 /pyenv/3.11.7")
    interpreter(pyenv / "3.13.0" / "bin" / "python3.13", "3 13 0 /pyenv/3.13.0")
    interpreter(pyenv / "3.13.10" / "bin" / "python3", "3 13 10 /pyenv/3.13.10")
    assert found(path=path, home=tmp_path) == ["3.11 /pyenv/3.11.7", "3.13 /pyenv/3.13.10"]
    assert found("--newest", path=path, home=tmp_path) == ["3.13 /pyenv/3.13.10"]
    interpreter(path / "python3.13", "3 13 10 /usr/my programs/python3.13")
    assert found("--newest", path=path, home=tmp_path) == ["3.13 /usr/my programs/python3.13"]
