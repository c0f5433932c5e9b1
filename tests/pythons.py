"""Pythons from 3.11 on that this machine offers, by PATH and pyenv: for `make test-pythons` and CI.

python3 tests/pythons.py [--newest]: a line for each minor version, with the path of its latest release.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

OLDEST = (3, 11)
# Debian's python3 lacks ensurepip without its package python3-venv. Pre-releases are left out.
PROBE = """
import ensurepip, sys, venv
if sys.version_info.releaselevel == "final":
    print(*sys.version_info[:3], sys.executable)
"""


def candidates() -> Iterator[Path]:
    """The programs that could be one."""
    folders = [Path(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for folder in (*folders, *sorted(pyenv.glob("versions/*/bin"))):
        yield from (folder / "python3", *sorted(folder.glob("python3.[0-9]*[0-9]")))


def probe(python: Path) -> tuple[tuple[int, ...], str]:
    """Its release, such as (3, 13, 1), and its own path, as it may be a shim. No release if it is no such Python."""
    try:
        ended = subprocess.run([python, "-c", PROBE], capture_output=True, text=True, check=False)
    except OSError:
        return (), ""
    *numbers, path = (ended.stdout.rstrip("\n") if ended.returncode == 0 else "").split(" ", maxsplit=3)
    return tuple(map(int, numbers)), path


def pythons() -> dict[str, str]:
    """Paths by minor version, oldest first."""
    found: dict[tuple[int, ...], str] = {}
    for python in candidates():
        version, path = probe(python) if python.is_file() else ((), "")
        if version >= OLDEST:
            # The first on the PATH of two of one release.
            found.setdefault(version, path)
    return {"{}.{}".format(*version): found[version] for version in sorted(found)}


if __name__ == "__main__":
    lines = [f"{version} {python}\n" for version, python in pythons().items()]
    sys.stdout.writelines(lines[-1:] if sys.argv[1:] == ["--newest"] else lines)
