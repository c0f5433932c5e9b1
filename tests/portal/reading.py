"""Parsing of the docs' pages: elements with their attributes, and code."""

from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser

from portal import site
from tests.support.client import Response, in_process

PAGES = tuple(page.path for page in site.pages())


@dataclass
class Element:
    """An element of a page."""

    tag: str
    attributes: dict[str, str]


@dataclass
class Page(HTMLParser):
    """A parsed page. text: all of it; code: of each `code` element."""

    source: str
    elements: list[Element] = field(default_factory=list)
    text: str = ""
    code: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._in_code = 0
        # Joined at the end: an attribute that grows is copied each time.
        self._texts: list[str] = []
        self._codes: list[list[str]] = []
        self.feed(self.source)
        self.text = "".join(self._texts)
        self.code = ["".join(texts) for texts in self._codes]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))
        if tag == "code":
            self._in_code += 1
            self._codes.append([])

    def handle_endtag(self, tag: str) -> None:
        self._in_code -= tag == "code"

    def handle_data(self, data: str) -> None:
        self._texts.append(data)
        if self._in_code:
            self._codes[-1].append(data)

    def values(self, name: str) -> list[str]:
        """The values of an attribute."""
        return [element.attributes[name] for element in self.elements if name in element.attributes]


def get(path: str, **headers: str) -> Response:
    """Request a path of the docs without a key."""
    return in_process("GET", path, {name.replace("_", "-"): value for name, value in headers.items()}, b"")


def read(path: str) -> Page:
    """A page of the docs."""
    response = get(path)
    assert response.status == 200, (path, response.status)
    return _parsed(response.body.decode())


@cache
def _parsed(source: str) -> Page:
    """Many tests read the same pages."""
    return Page(source)
