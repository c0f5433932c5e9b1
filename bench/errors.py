"""The benchmark's error."""


class BenchError(Exception):
    """The benchmark cannot measure, or its figures are not valid; the text says why."""
