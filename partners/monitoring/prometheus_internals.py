"""prometheus_client's names that are not public: all that the service uses of them (docs/dependencies.md).

Its files of an ended process stay for ever, or its counts are lost: it has no public way to add them to others.
tests/partners/monitoring/test_prometheus_internals.py fails where the form of the files changes.
"""

from pathlib import Path

from prometheus_client.mmap_dict import MmapedDict


def move_counts(source: Path, target: Path) -> None:
    """Adds the values of one file of metrics to those of another, which may not exist yet, and removes the first.

    Raises FileNotFoundError where the first is not there.
    """
    values = list(MmapedDict.read_all_values_from_file(str(source)))  # type: ignore[no-untyped-call]
    sums = MmapedDict(str(target))  # type: ignore[no-untyped-call]
    for key, value, *_ in values:
        so_far, _ = sums.read_value(key)  # type: ignore[no-untyped-call]
        sums.write_value(key, so_far + value, 0.0)  # type: ignore[no-untyped-call]
    sums.close()  # type: ignore[no-untyped-call]
    source.unlink()
