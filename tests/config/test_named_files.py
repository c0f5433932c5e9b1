"""The product's comments and docs/ name files that exist: a file that moves takes its name with it."""

import re
from collections.abc import Iterator

import pytest
from django.conf import settings

FOLDERS = (
    *("backoffice", "bench", "clients", "config", "demo", "deploy", "docs", "docs_site", "partners", "sandbox"),
    *("transactions", "users"),
)
KINDS = {".conf", ".md", ".py", ".service", ".sql", ".yml"}
NAMED = re.compile(rf"(?<![\w/.{{-])(?:{'|'.join({*FOLDERS, 'tests'} - {'docs'})})/[\w/]+\.(?:md|py|sql)\b")
# A file that a recipe of docs/architecture.md makes.
TO_COME = {"tests/transactions/api/test_notes.py"}


def named(folder: str) -> Iterator[tuple[str, str]]:
    for path in (settings.BASE_DIR / folder).rglob("*"):
        # What a migration says was true when it was written.
        if path.suffix in KINDS and "migrations" not in path.parts:
            for name in NAMED.findall(path.read_text()):
                yield str(path.relative_to(settings.BASE_DIR)), name


@pytest.mark.parametrize("folder", FOLDERS)
def test_files_that_are_named_exist(folder: str) -> None:
    missing = [(by, name) for by, name in named(folder) if not (settings.BASE_DIR / name).exists()]
    assert [one for one in missing if one[1] not in TO_COME] == []


def test_names_are_found() -> None:
    assert len(list(named("docs"))) > 100
