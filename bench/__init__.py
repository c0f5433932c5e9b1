"""Benchmarks: `make bench`, and the figures in docs/. Not part of the service."""

import sys
from pathlib import Path

# The client package that partners get signs the requests.
sys.path.append(str(Path(__file__).resolve().parent.parent / "clients" / "python" / "src"))
