"""The files of docs/examples, which partners may copy."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.urls import reverse

FOLDER: Path = settings.BASE_DIR / "docs" / "examples"
VECTORS: Path = settings.BASE_DIR / "docs" / "signing-vectors.json"

# The language of each suffix and its name in Pygments, in the order in which they are shown.
LANGUAGES = {
    ".py": ("Python", "python"),
    ".mjs": ("Node.js", "javascript"),
    ".sh": ("Bash", "bash"),
    ".php": ("PHP", "php"),
    ".java": ("Java", "java"),
    ".go": ("Go", "go"),
}
# Those of "go_live" are in the order in which they run; the first is a module of the others.
_SUBFOLDERS = ("snippets", "go_live")


@dataclass(frozen=True, slots=True)
class Sample:
    """A file as the pages show it. syntax: the language for the highlighter."""

    name: str
    language: str
    syntax: str
    text: str
    lines: int
    href: str


def files() -> dict[str, Path]:
    """Return the files for download by name, so that no path comes from a request."""
    paths = [*FOLDER.iterdir(), *(path for name in _SUBFOLDERS for path in (FOLDER / name).iterdir())]
    return {path.name: path for path in sorted(paths) if path.is_file() and not path.name.startswith(".")}


def clients() -> list[Sample]:
    """Return the whole clients, one in each language and two in Python."""
    return _samples(path for path in files().values() if path.parent == FOLDER)


def samples_in(folder: str) -> dict[str, list[Sample]]:
    """Return the samples of a folder by name, in their order, in each language that has one."""
    paths = [path for path in files().values() if path.parent.name == folder]
    return {
        name: _samples(path for path in paths if path.stem == name) for name in dict.fromkeys(p.stem for p in paths)
    }


def _samples(paths: Iterable[Path]) -> list[Sample]:
    order = list(LANGUAGES)
    known = [path for path in paths if path.suffix in LANGUAGES]
    return [_sample(path) for path in sorted(known, key=lambda path: (order.index(path.suffix), path.name))]


def _sample(path: Path) -> Sample:
    language, syntax = LANGUAGES[path.suffix]
    # A second client in one language is named for the library that it needs.
    _, _, library = path.stem.partition("_") if path.parent == FOLDER else ("", "", "")
    text = path.read_text()
    href = reverse("docs_example", args=[path.name])
    return Sample(path.name, f"{language} ({library})" if library else language, syntax, text, text.count("\n"), href)
