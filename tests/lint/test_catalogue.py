"""The French catalogue is whole, and what is compiled is what is written: `make messages` makes both."""

import ast
import gettext
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib import admin
from django.utils.translation import trim_whitespace

FOLDER = Path(settings.BASE_DIR) / "locale" / "fr" / "LC_MESSAGES"
# What programs fill in: of %-formatting.
PLACES = re.compile(r"%(?:\(\w+\))?[sd]")
# Strings of templates and code, as literals: a marked string that `make messages` has not been run for.
TRANSLATED = re.compile(r"""\{%-?\s*translate\s+("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
BLOCKS = re.compile(r"\{%\s*blocktranslate\b([^%]*)%\}(.*?)\{%\s*endblocktranslate\s*%\}", re.DOTALL)
CALLED = {"_", "gettext", "gettext_noop", "gettext_lazy", "ngettext", "ngettext_lazy"}
# With a context as the first argument; gettext joins the two by this character.
CALLED_WITH_CONTEXT = {"pgettext", "pgettext_lazy"}
JOINT = "\x04"
APPS = ("backoffice", "config", "core", "partners", "events", "staff", "transactions", "users")

# msgid, msgid_plural and the translations by number.
Entry = dict[str, str]


def entries() -> Iterator[Entry]:
    """The entries of django.po, the header first. A flag is under `#`; a context is part of the msgid."""
    for paragraph in (FOLDER / "django.po").read_text(encoding="utf-8").split("\n\n"):
        entry: Entry = {}
        name = ""
        for line in paragraph.splitlines():
            if line.startswith("#"):
                entry["#"] = entry.get("#", "") + (line if line.startswith("#,") else "")
                continue
            if not line.startswith('"'):
                name, line = line.split(" ", 1)  # noqa: PLW2901 - the rest is the text
                entry[name] = ""
            entry[name] += ast.literal_eval(line)
        if "msgid" in entry:
            if context := entry.pop("msgctxt", ""):
                entry["msgid"] = context + JOINT + entry["msgid"]
            yield entry


HEADER, *ENTRIES = entries()


def translations(entry: Entry) -> list[str]:
    return [text for name, text in entry.items() if name.startswith("msgstr")]


def test_each_string_has_a_french_one() -> None:
    lacking = [entry["msgid"] for entry in ENTRIES if not all(translations(entry)) or "fuzzy" in entry.get("#", "")]
    assert not lacking
    assert all(len(translations(entry)) == (2 if "msgid_plural" in entry else 1) for entry in ENTRIES)


def test_each_french_string_has_the_places_of_the_english_one() -> None:
    for entry in ENTRIES:
        wanted = [sorted(PLACES.findall(entry[name])) for name in ("msgid", "msgid_plural") if name in entry]
        assert [sorted(PLACES.findall(text)) for text in translations(entry)] == wanted, entry["msgid"]


def test_what_is_compiled_is_what_is_written() -> None:
    with (FOLDER / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    written: dict[object, str] = {}
    for entry in ENTRIES:
        if "msgid_plural" in entry:
            for number in (0, 1):
                written[entry["msgid"], number] = entry[f"msgstr[{number}]"]
        else:
            written[entry["msgid"]] = entry["msgstr"]
    assert {key: text for key, text in compiled.items() if key} == written, "Run `make messages`."


def _marked_in_code(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        count = 1 if node.func.id in CALLED else 2 if node.func.id in CALLED_WITH_CONTEXT else 0
        # Names of models are translated by what they are: the list beside that is of literals.
        if texts := [str(one.value) for one in node.args[:count] if isinstance(one, ast.Constant)]:
            yield JOINT.join(texts)


def _marked_in_template(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    yield from (ast.literal_eval(literal) for literal in TRANSLATED.findall(text))
    for options, block in BLOCKS.findall(text):
        for part in re.split(r"\{%\s*plural\s*%\}", block):
            single = trim_whitespace(part) if "trimmed" in options.split() else part
            yield re.sub(r"\{\{\s*(\w+)\s*\}\}", r"%(\1)s", single)


def _run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when the module is imported."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _run_at_import(child)


@pytest.mark.parametrize("folder_name", APPS)
def test_no_module_translates_when_it_is_imported(folder_name: str) -> None:
    """The language would be that of the start."""
    found: list[str] = []
    for path in (Path(settings.BASE_DIR) / folder_name).rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        at_once = {
            name.asname or name.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "django.utils.translation"
            for name in node.names
            if name.name in {"gettext", "ngettext", "pgettext", "npgettext"}
        }
        calls = (node for node in _run_at_import(tree) if isinstance(node, ast.Call))
        found += [f"{path}:{one.lineno}" for one in calls if isinstance(one.func, ast.Name) and one.func.id in at_once]
    assert found == []


@pytest.mark.parametrize("folder_name", [*APPS, "templates"])
def test_the_catalogue_has_each_marked_string(folder_name: str) -> None:
    known = {entry[name] for entry in ENTRIES for name in ("msgid", "msgid_plural") if name in entry}
    folder = Path(settings.BASE_DIR) / folder_name
    marked = {
        *(text for path in folder.rglob("*.py") for text in _marked_in_code(path)),
        *(text for path in folder.rglob("*.html") for text in _marked_in_template(path)),
    }
    assert marked
    assert marked <= known, "Run `make messages`, and translate what is new."


def test_it_has_the_names_of_what_the_admin_shows() -> None:
    known = {entry["msgid"] for entry in ENTRIES}
    shown = [model for model in admin.site._registry if model._meta.app_label in APPS]
    names = {text for model in shown for text in (str(model._meta.verbose_name), str(model._meta.verbose_name_plural))}
    assert names
    assert names <= known, "Give it a translatable verbose_name, then `make messages`."
