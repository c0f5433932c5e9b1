"""The types of the clients are what `make client-types` makes of the description."""

import subprocess
from pathlib import Path

from tests.examples.languages import ROOT, require
from tests.support.timeouts import WAIT_SECONDS

TYPES = ("python/src/psi/types.py", "node/types.d.mts")


def test_the_types_are_those_of_the_description(tmp_path: Path) -> None:
    require("npm")
    for name in TYPES:
        (tmp_path / name).parent.mkdir(parents=True)
    command = ["make", "--no-print-directory", "client-types", f"TYPES={tmp_path}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=5 * WAIT_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in TYPES:
        assert (tmp_path / name).read_text() == (ROOT / "clients" / name).read_text(), "Run `make client-types`."
