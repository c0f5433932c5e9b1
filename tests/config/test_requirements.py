"""The lock files of production, demo and tests agree."""

import re
from pathlib import Path

import pytest
from django.conf import settings

LOCKS = Path(settings.BASE_DIR) / "requirements"


def locked(name: str) -> set[str]:
    """Return the packages of a lock file with their versions."""
    return set(re.findall(r"^[\w.\-]+(?:\[[\w,\-]+\])?==[^\s;]+", (LOCKS / f"{name}.txt").read_text(), re.MULTILINE))


@pytest.mark.parametrize(("smaller", "larger"), [("base", "demo"), ("docs", "demo"), ("demo", "dev")])
def test_a_larger_set_of_packages_includes_the_smaller(smaller: str, larger: str) -> None:
    assert locked(smaller)
    assert locked(smaller) - locked(larger) == set()
