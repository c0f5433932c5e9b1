"""The files of docs/examples and of the client packages, which partners may copy."""

from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.urls import reverse

FOLDER: Path = settings.BASE_DIR / "docs" / "examples"
# The modules of the packages: each is one file, and works alone under this name.
_PACKAGED = {
    "psi.py": settings.BASE_DIR / "clients" / "python" / "src" / "psi" / "__init__.py",
    "psi.mjs": settings.BASE_DIR / "clients" / "node" / "psi.mjs",
}
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
    found = {path.name: path for path in paths if path.is_file() and not path.name.startswith(".")} | _PACKAGED
    return dict(sorted(found.items(), key=lambda item: (item[1].parent, item[0])))


def clients() -> list[Sample]:
    """Return the whole clients, one in each language."""
    return _samples({name: path for name, path in files().items() if name in _PACKAGED or path.parent == FOLDER})


def samples_in(folder: str) -> dict[str, list[Sample]]:
    """Return the samples of a folder by name, in their order, in each language that has one."""
    found = {name: path for name, path in files().items() if path.parent.name == folder}
    stems = dict.fromkeys(path.stem for path in found.values())
    return {stem: _samples({name: path for name, path in found.items() if path.stem == stem}) for stem in stems}


def _samples(found: dict[str, Path]) -> list[Sample]:
    order = list(LANGUAGES)
    known = [name for name in found if Path(name).suffix in LANGUAGES]
    return [
        _sample(name, found[name]) for name in sorted(known, key=lambda name: (order.index(Path(name).suffix), name))
    ]


def _sample(name: str, path: Path) -> Sample:
    language, syntax = LANGUAGES[path.suffix]
    text = path.read_text()
    href = reverse("docs_example", args=[name])
    return Sample(name, language, syntax, text, text.count("\n"), href)
