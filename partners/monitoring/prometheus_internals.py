"""The non-public names of prometheus_client that the service uses (docs/dependencies.md).

prometheus_client has no public way to add the counts of an ended process to others.
tests/partners/monitoring/test_prometheus_internals.py fails if the format of its files changes.
"""

from pathlib import Path

from prometheus_client.mmap_dict import MmapedDict


def move_counts(source: Path, target: Path) -> None:
    """Add a metrics file's values to another, which may be missing, and remove it. Raises FileNotFoundError."""
    values = list(MmapedDict.read_all_values_from_file(str(source)))  # type: ignore[no-untyped-call]
    sums = MmapedDict(str(target))  # type: ignore[no-untyped-call]
    for key, value, *_ in values:
        so_far, _ = sums.read_value(key)  # type: ignore[no-untyped-call]
        sums.write_value(key, so_far + value, 0.0)  # type: ignore[no-untyped-call]
    sums.close()  # type: ignore[no-untyped-call]
    source.unlink()
