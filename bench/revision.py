"""The code to measure: the checkout, or another revision in a folder of its own."""

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
    """Code to run. name: the commit, with `-dirty` if files differ. python: the interpreter."""

    name: str
    folder: Path
    python: str


def present() -> Revision:
    """Return the checkout, uncommitted changes included."""
    # A checkout from an archive has no commit.
    has_commit = (CHECKOUT / ".git").exists()
    name = _git(CHECKOUT, "describe", "--always", "--dirty", "--exclude=*") if has_commit else "checkout"
    return Revision(name, CHECKOUT, sys.executable)


def checked_out(revision: str, folder: Path) -> Revision:
    """Check a commit out into a new folder, with a `.venv` of its own if its lock file differs. Raises BenchError."""
    commit = _git(CHECKOUT, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    # A worktree would stay registered if this process is killed.
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
        raise BenchError(f"`{' '.join(command)}` failed: {done.stderr.strip()[-2000:] or 'no message'}")
    return done.stdout.strip()
