"""Stops the embedded server of this checkout, for `make clean`: `python -m config.embedded.stop`."""

import sys
from pathlib import Path

from config.embedded.server import EmbeddedServer


def main() -> int:
    """Stops the server unless somebody else is using it; the exit status."""
    server = EmbeddedServer(Path(__file__).resolve().parents[2] / ".local" / "postgres")
    if server.stop():
        return 0
    sys.stderr.write("The embedded PostgreSQL is in use: end what uses it first.\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
