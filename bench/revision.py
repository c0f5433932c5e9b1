"""The code that is measured: the checkout as it is, or another revision of it in a folder of its own."""

import filecmp
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.errors import BenchError

CHECKOUT = Path(__file__).resolve().parent.parent
_LOCK = Path("requirements", "dev.txt")


@dataclass(frozen=True, slots=True)
class Revision:
    """Code that can be run. name: the commit, `-dirty` behind it where files differ. python: the program."""

    name: str
    folder: Path
    python: str


def present() -> Revision:
    """The checkout with what is not committed."""
    # Unpacked from an archive it has no commit.
    known = (CHECKOUT / ".git").exists()
    name = _git(CHECKOUT, "describe", "--always", "--dirty", "--exclude=*") if known else "checkout"
    return Revision(name, CHECKOUT, sys.executable)


def checked_out(revision: str, folder: Path) -> Revision:
    """A commit of this repository, in `folder`, which is made; with a `.venv` of its own where its lock file differs.

    Raises BenchError where there is no such commit, or it cannot be installed.
    """
    commit = _git(CHECKOUT, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    # A worktree would stay in the repository's list where this process is killed.
    _git(CHECKOUT, "clone", "--quiet", "--shared", "--no-checkout", str(CHECKOUT), str(folder))
    _git(folder, "checkout", "--quiet", "--detach", commit)
    python = sys.executable
    if not filecmp.cmp(CHECKOUT / _LOCK, folder / _LOCK, shallow=False):
        _run(folder, "make", "install")
        python = str(folder / ".venv" / "bin" / "python")
    return Revision(_git(folder, "describe", "--always", "--exclude=*"), folder, python)


def _git(folder: Path, *arguments: str) -> str:
    return _run(folder, "git", *arguments)


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise BenchError(f"`{' '.join(command)}` failed: {done.stderr.strip()[-2000:] or 'it says nothing'}")
    return done.stdout.strip()
