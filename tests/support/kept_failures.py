"""Keeps the names and texts of failed tests, of earlier runs too: a test that fails once in many runs can be found."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

FILE = Path(".local") / "failed-tests.log"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Append the failures to a file, and say so. The summary, with their names, follows as the last lines."""
    stats = terminalreporter.stats
    failed = [*stats.get("error", ()), *stats.get("failed", ())]
    # Workers have a report of their own.
    if failed and not hasattr(config, "workerinput"):
        file = config.rootpath / FILE
        file.parent.mkdir(exist_ok=True)
        with file.open("a") as log:
            for report in failed:
                log.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {report.nodeid}\n{report.longreprtext}\n\n")
        terminalreporter.write_line(f"Failures are kept in {FILE}, those of earlier runs too.")
