"""The size of what git tracks, for `make size`: lines by kind and by app, and the words of the documentation."""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path, PurePath

APPS = (
    "config", "core", "partners", "events", "staff", "users", "transactions", "backoffice", "sandbox", "docs_site",
    "demo",
)  # fmt: skip
SCRIPTS = {".html", ".css", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"}
EXAMPLES = {".py", ".sh", ".php", ".go", ".java"}
SMALL = 40


BY_SUFFIX = dict.fromkeys(SCRIPTS, "templates, scripts, styles") | {".sql": "SQL"}
WORDS = {"docs_site": "pages of /docs", "clients": "packages", "CHANGELOG.md": "changelog"}


def kind_of(path: PurePath) -> str | None:
    """Return the row of the report that counts a file: an app's name for product Python, else a kind. None: no row."""
    top = path.parts[0]
    if "migrations" in path.parts:
        return "migrations"
    if path.suffix == ".md":
        return f"words: {WORDS.get(top, 'docs')}"
    if path.suffix == ".py" and top in {*APPS, "tests"}:
        return f"product: {top}" if top in APPS else top
    if path.suffix in EXAMPLES:
        return "bench" if top.startswith("bench") else "clients and examples"
    return BY_SUFFIX.get(path.suffix)


def main() -> None:
    """Print a table: files, lines, words where they are what counts, and product files below 40 lines."""
    tracked = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    texts: dict[str, list[str]] = defaultdict(list)
    for name in filter(None, tracked.split("\0")):
        path = Path(name)
        if (kind := kind_of(path)) and path.is_file():
            texts[kind].append(path.read_text(encoding="utf-8"))
    product = [text for kind, found in texts.items() if kind.startswith("product: ") for text in found]
    rows = [f"{'':30}{'files':>8}{'lines':>8}"]
    for kind, found in [*sorted(texts.items()), ("product, all apps", product)]:
        words = f"  {sum(len(text.split()) for text in found)} words" if kind.startswith("words: ") else ""
        rows.append(f"{kind:30}{len(found):>8}{sum(text.count(chr(10)) for text in found):>8}{words}")
    small = sum(0 < text.count("\n") < SMALL for text in product)
    sys.stdout.write("\n".join([*rows, f"{f'product files below {SMALL} lines':30}{small:>8}"]) + "\n")


if __name__ == "__main__":
    main()
