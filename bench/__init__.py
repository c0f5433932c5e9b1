"""Measurements to be made again: `make bench`, and what docs/ quotes. Not part of the service."""
