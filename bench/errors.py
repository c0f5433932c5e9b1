"""What ends a benchmark."""


class BenchError(Exception):
    """Nothing can be measured, or what was measured is not to be believed; the text says why, for people."""
