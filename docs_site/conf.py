"""Sphinx's settings for the pages of /docs, and what it is to do for them: `make docs`."""

import json
import shutil
import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from docs_site.reference import Reference, description  # noqa: E402

project = "Partner Service Interface"
html_title = project
extensions = ["myst_parser", "sphinx_design", "sphinx_copybutton", "notfound.extension"]
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4
nitpicky = True
html_theme = "furo"
html_theme_options = {"top_of_page_buttons": [], "light_logo": "icon.svg", "dark_logo": "icon.svg"}
html_favicon = "static/icon.svg"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_js_files = ["pages.js"]
html_copy_source = html_use_index = False
notfound_urls_prefix = "/docs/"
notfound_context = {
    "title": "Page not found",
    "body": '<h1>Page not found</h1><p>Begin with the <a href="/docs/">first call</a>, or search.</p>',
}
# What is typed after a prompt or in front of output is not copied.
copybutton_exclude = ".linenos, .gp, .go"

EXAMPLES = ROOT / "docs" / "examples"
CLIENTS = ROOT / "clients"
# The modules of the packages: each works alone under this name.
MODULES = {"psi.py": CLIENTS / "python" / "src" / "psi" / "__init__.py", "psi.mjs": CLIENTS / "node" / "psi.mjs"}
LANGUAGES = {".py": ("Python", "python"), ".mjs": ("Node.js", "javascript"), ".sh": ("Bash", "bash")}


class Example(SphinxDirective):
    """The file of docs/examples with this name, in a tab for each language."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the tabs."""
        tabs = "".join(
            f":::{{tab-item}} {language}\n:sync: {language}\n"
            f"```{{literalinclude}} /../../docs/examples/{self.arguments[0]}{suffix}\n"
            f":language: {syntax}\n:caption: {Path(self.arguments[0]).name}{suffix}\n```\n:::\n"
            for suffix, (language, syntax) in LANGUAGES.items()
        )
        return self.parse_text_to_nodes(f"::::{{tab-set}}\n:sync-group: language\n{tabs}::::\n")


def changelog(text: str) -> str:
    """Return the entries of CHANGELOG.md for partners: of the groups "For partners:", and outside of groups."""
    kept, is_shown = ["# Changelog"], False
    for line in text.splitlines():
        is_heading = line.startswith("##")
        if is_heading or line.startswith("For "):
            is_shown = is_heading or line == "For partners:"
        if is_shown and line != "For partners:":
            kept.append(line.replace("[", "").replace("]", "") if is_heading else line)
    return "\n".join(kept) + "\n"


def write_pages(app: Sphinx) -> None:
    """Write the pages of the reference, and of the changelog's entries for partners."""
    texts = {f"reference/{name}": text for name, text in Reference().pages().items()}
    texts["changelog"] = changelog((ROOT / "CHANGELOG.md").read_text())
    (Path(app.srcdir) / "reference").mkdir(exist_ok=True)
    for name, text in texts.items():
        (Path(app.srcdir) / f"{name}.md").write_text(text)


def example_files() -> dict[str, Path]:
    """Return what partners download, by name: the examples, and the modules of the client packages."""
    paths = (path for pattern in ("*.*", "snippets/*.*", "go_live/*.*") for path in EXAMPLES.glob(pattern))
    return {path.name: path for path in paths} | MODULES


def copy_files(app: Sphinx, failure: Exception | None) -> None:
    """Copy what partners download: the examples into one folder, the vectors, and the description as JSON."""
    if not failure:
        site = Path(app.outdir)
        (site / "examples").mkdir(exist_ok=True)
        for name, path in example_files().items():
            shutil.copy(path, site / "examples" / name)
        shutil.copy(ROOT / "docs" / "signing-vectors.json", site)
        (site.parent / "openapi.json").write_text(json.dumps(description(), indent=2, ensure_ascii=False) + "\n")


def setup(app: Sphinx) -> None:
    """Register what is above."""
    app.add_directive("example", Example)
    app.connect("builder-inited", write_pages)
    app.connect("build-finished", copy_files)
