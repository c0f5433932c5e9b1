"""Stops the embedded server of this checkout: `python -m config.embedded.stop`."""

import sys
from pathlib import Path

from config.embedded.server import EmbeddedServer


def main() -> None:
    """Stop the server; exit with status 1 if a process uses it."""
    if not EmbeddedServer(Path(__file__).resolve().parents[2] / ".local" / "postgres").stop():
        sys.exit("The embedded PostgreSQL is in use: end the processes that use it.")


if __name__ == "__main__":
    main()
