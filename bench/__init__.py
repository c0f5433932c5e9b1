"""Benchmarks: `make bench`, and the figures in docs/. Not part of the service."""
