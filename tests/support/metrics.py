"""The metrics of this process."""

from collections import Counter

from prometheus_client import REGISTRY


def totals(name: str, label: str, **others: str) -> Counter[str]:
    """A counter's values by one of its labels. others: further labels that the samples must have.

    Two results subtract to what was counted between them, without zeros.
    """
    found: Counter[str] = Counter()
    # The whole registry grows with each test's partner.
    for metric in REGISTRY.restricted_registry([name]).collect():
        for sample in metric.samples:
            if sample.name == name and others.items() <= sample.labels.items():
                found[sample.labels[label]] += int(sample.value)
    return found
