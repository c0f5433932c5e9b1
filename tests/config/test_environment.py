"""The contents of a generated `.env`."""

from pathlib import Path

from django.conf import settings

from config.environment import fill

EXAMPLE = (Path(settings.BASE_DIR) / ".env.example").read_text()


def test_each_placeholder_gets_its_own_random_value() -> None:
    values = [line.partition("=")[2] for line in fill(EXAMPLE).splitlines() if "=" in line and line[0] != "#"]
    assert len(set(values)) == len(values) == 3
    assert "<random>" not in values


def test_comments_are_unchanged() -> None:
    assert [line for line in fill(EXAMPLE).splitlines() if line.startswith("#")] == [
        line for line in EXAMPLE.splitlines() if line.startswith("#")
    ]
