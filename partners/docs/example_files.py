"""The example files that partners may copy: whatever lies in docs/examples, as it is."""

from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.urls import reverse

FOLDER: Path = settings.BASE_DIR / "docs" / "examples"
VECTORS: Path = settings.BASE_DIR / "docs" / "signing-vectors.json"

# The names under which Pygments knows them.
SYNTAXES = {".py": "python", ".mjs": "javascript", ".sh": "bash", ".php": "php", ".java": "java", ".go": "go"}
# In the order in which they are shown.
LANGUAGES = {".py": "Python", ".mjs": "Node.js", ".sh": "Bash", ".php": "PHP", ".java": "Java", ".go": "Go"}
SNIPPETS = ("ping", "create_user", "update_user", "list_transactions", "get_document", "retry")


@dataclass(frozen=True, slots=True)
class Sample:
    """An example. name: of its file."""

    name: str
    language: str
    text: str

    @property
    def href(self) -> str:
        """Where it is downloaded."""
        return reverse("docs_example", args=[self.name])

    @property
    def syntax(self) -> str:
        """The name of the language for the highlighter."""
        return SYNTAXES[Path(self.name).suffix]

    @property
    def lines(self) -> int:
        """How many there are."""
        return len(self.text.splitlines())


def files() -> dict[str, Path]:
    """The files that may be downloaded, by name: nothing is reached by a path that a request makes up."""
    return {path.name: path for folder in (FOLDER, FOLDER / "snippets") for path in _files_in(folder)}


def clients() -> list[Sample]:
    """The whole examples, one in each language and two in Python."""
    found = [path for path in _files_in(FOLDER) if path.suffix in LANGUAGES]
    return [_sample(path) for path in sorted(found, key=lambda path: [*LANGUAGES].index(path.suffix))]


def snippets() -> dict[str, list[Sample]]:
    """The short pieces, by what they do, in each language that has one."""
    return {name: [_sample(path) for path in _by_language(name)] for name in SNIPPETS}


def _files_in(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.is_file() and not path.name.startswith(".")]


def _by_language(name: str) -> list[Path]:
    paths = [FOLDER / "snippets" / f"{name}{suffix}" for suffix in LANGUAGES]
    return [path for path in paths if path.is_file()]


def _sample(path: Path) -> Sample:
    return Sample(path.name, _language(path), path.read_text())


def _language(path: Path) -> str:
    # Two of Python: named for the library that the second one needs.
    _stem, _, library = path.stem.partition("_") if path.parent == FOLDER else (path.stem, "", "")
    return LANGUAGES[path.suffix] + (f" ({library})" if library else "")
