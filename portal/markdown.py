"""A page of the docs as Markdown, for programs that read text: what is in its `main`, without forms and pictures.

It knows the elements that our own templates use. Text is escaped where Markdown would take it for a mark.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"br", "hr", "img", "input", "link", "meta"}
_INLINE = {"a", "abbr", "b", "code", "em", "i", "mark", "span", "strong", "time", "br"}
_SKIPPED = {"button", "form", "input", "label", "legend", "nav", "script", "svg", "textarea"}
_SKIPPED_CLASSES = {"anchor", "page-only", "unseen"}
_HEADINGS = ("h1", "h2", "h3", "h4")
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*"}
_SPECIAL = re.compile(r"[\\`*<]|(?<!\w)_|_(?!\w)")


@dataclass
class _Node:
    """An element with its attributes and children; text is a str."""

    tag: str
    attributes: dict[str, str]
    children: list["_Node | str"] = field(default_factory=list)

    @property
    def is_skipped(self) -> bool:
        return self.tag in _SKIPPED or bool(_SKIPPED_CLASSES & set(self.attributes.get("class", "").split()))

    def all(self, *tags: str) -> Iterator["_Node"]:
        """Yield the nearest elements below with one of the tags."""
        for child in self.children:
            if isinstance(child, _Node):
                if child.tag in tags:
                    yield child
                else:
                    yield from child.all(*tags)


class _Tree(HTMLParser):
    """Parses a page of ours, whose elements are all closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.root = _Node("", {})
        self._open = [self.root]
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = _Node(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(node)
        if tag not in _VOID:
            self._open.append(node)

    def handle_endtag(self, tag: str) -> None:
        while tag in (node.tag for node in self._open[1:]) and self._open.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


class _Writer:
    """Writes nodes. link: returns the address that a link is to have, or "" for text alone."""

    def __init__(self, link: Callable[[str], str]) -> None:
        self._link = link

    def blocks(self, node: _Node) -> list[str]:
        """Return the blocks of an element: paragraphs, lists, code, tables."""
        blocks: list[str] = []
        line: list[_Node | str] = []
        for child in (*node.children, None):
            if isinstance(child, str) or (child and child.tag in _INLINE):
                line.append(child)
                continue
            if text := self.inline(*line):
                blocks.append(text)
            line = []
            if child and not child.is_skipped:
                blocks += self._block(child)
        return blocks

    def _block(self, node: _Node) -> list[str]:
        if node.tag in _HEADINGS:
            return ["#" * int(node.tag[1]) + " " + self.inline(node)]
        if node.tag == "pre":
            return [_fenced(_text(node).strip("\n"), node.attributes.get("data-syntax", ""))]
        if node.tag in {"summary", "figcaption"} and not any(node.all(*_HEADINGS)):
            text = self.inline(node)
            # It may hold a link, or marks of its own.
            return [text] if "](" in text or "**" in text else [f"**{text}**"]
        lists = {"ul": self._items, "ol": self._items, "dl": self._definitions, "table": self._rows}
        return ["\n".join(lists[node.tag](node))] if node.tag in lists else self.blocks(node)

    def inline(self, *nodes: _Node | str) -> str:
        """Return text on one line; blocks in it are separated by spaces."""
        return " ".join("".join(self._pieces(nodes)).split())

    def _pieces(self, nodes: tuple[_Node | str, ...]) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, str):
                yield _SPECIAL.sub(r"\\\g<0>", node)
            elif node.tag == "br":
                yield " "
            elif node.tag == "code":
                text = _text(node)
                yield f"`` {text} ``" if "`" in text else f"`{text}`"
            elif not node.is_skipped:
                text = "".join(self._pieces(tuple(node.children)))
                address = self._link(node.attributes.get("href", "")) if node.tag == "a" else ""
                if address and text:
                    yield f"[{text}]({address})"
                elif mark := _MARKS.get(node.tag):
                    yield f"{mark}{text}{mark}"
                else:
                    yield text if node.tag in _INLINE else f" {text} "

    def _items(self, node: _Node) -> Iterator[str]:
        for number, item in enumerate(node.all("li"), start=1):
            mark = f"{number}. " if node.tag == "ol" else "- "
            yield mark + _indented("\n\n".join(self.blocks(item)), len(mark))

    def _definitions(self, node: _Node) -> Iterator[str]:
        term = ""
        for part in node.all("dt", "dd"):
            if part.tag == "dt":
                term = self.inline(part)
            else:
                meaning = self.inline(part)
                yield f"- {term}: {meaning}" if meaning else f"- {term}"

    def _rows(self, node: _Node) -> Iterator[str]:
        for number, row in enumerate(node.all("tr")):
            cells = [self.inline(cell).replace("|", r"\|") for cell in row.all("th", "td")]
            yield f"| {' | '.join(cells)} |"
            if number == 0:
                yield "|" + " --- |" * len(cells)


def _text(node: _Node) -> str:
    return "".join(child if isinstance(child, str) else _text(child) for child in node.children)


def _fenced(code: str, syntax: str) -> str:
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", code))])
    return f"{fence}{syntax}\n{code}\n{fence}"


def _indented(text: str, width: int) -> str:
    return text.replace("\n", "\n" + " " * width).replace("\n" + " " * width + "\n", "\n\n")


def markdown(html: str, link: Callable[[str], str]) -> str:
    """Return a page as Markdown. link: returns the address that a link is to have, or "" for text alone."""
    [main] = _Tree(html).root.all("main")
    return "\n\n".join(_Writer(link).blocks(main)) + "\n"
