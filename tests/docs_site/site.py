"""The built pages of /docs, parsed: `make docs` builds them."""

import re
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from html.parser import HTMLParser

from django.conf import settings

ROOT = settings.WHITENOISE_ROOT / "docs"
PAGES_OF_MARKDOWN = settings.BASE_DIR / "docs_site" / "pages"
# The addresses of all pages, as they are served.
PAGES = sorted(
    f"/docs/{path.parent.relative_to(ROOT).as_posix()}/".replace("/./", "/") for path in ROOT.rglob("index.html")
)
_CAPTIONED = re.compile(
    r'code-block-caption"><span class="caption-text">(.*?)</span>.*?<div class="highlight"><pre>(.*?)</pre>', re.DOTALL
)


@dataclass
class Page(HTMLParser):
    """A parsed page. source: its HTML. elements: tag and attributes of each. text: all of it."""

    source: str
    elements: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.source)
        # In one line, as the source is wrapped.
        self.text = " ".join(_plain(self.source).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def values(self, name: str) -> list[str]:
        """The values of an attribute."""
        return [attributes[name] for _, attributes in self.elements if name in attributes]

    @property
    def code(self) -> dict[str, str]:
        """The captioned blocks of code, by their captions."""
        return {_plain(caption): _plain(code) for caption, code in _CAPTIONED.findall(self.source)}


def _plain(html: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", html))


@cache
def page(address: str) -> Page:
    """Return a built page by its address."""
    return Page((ROOT / address.removeprefix("/docs/") / "index.html").read_text())


def text(name: str) -> str:
    """A page's Markdown, in one line."""
    return " ".join((PAGES_OF_MARKDOWN / f"{name}.md").read_text().split())
