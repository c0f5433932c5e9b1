"""A page of the docs as Markdown, for programs that read text: what is in its `main`, without forms and pictures."""

import re
from collections.abc import Callable
from typing import Any

from bs4 import BeautifulSoup, Tag
from markdownify import ATX, MarkdownConverter

_SKIPPED = {"button", "form", "input", "label", "legend", "nav", "script", "svg", "textarea"}
_SKIPPED_CLASSES = {"anchor", "page-only", "unseen"}
# What links lead to; forms have ids too.
_WITH_ANCHORS = ["section", "tr", "li", "p", "h2", "h3", "details"]
_SPECIAL = re.compile(r"[\\`*<]|(?<!\w)_|_(?!\w)")


class _Converter(MarkdownConverter):
    """markdownify, with the terms of a `dl` as a list, and summaries and captions in bold."""

    def escape(self, text: str, parent_tags: set[str]) -> str:
        """Escape what Markdown would take for a mark, and nothing else: programs read the source."""
        return _SPECIAL.sub(r"\\\g<0>", text)

    def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """A link, or the place that links lead to, for which Markdown has no mark of its own."""
        return f'<a id="{el["id"]}"></a>' if "id" in el.attrs else super().convert_a(el, text, parent_tags)  # type: ignore[misc]

    def convert_dt(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """A term begins an item of a list."""
        return f"\n- {_on_one_line(text)}"

    def convert_dd(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """Its meaning ends the item."""
        return f": {_on_one_line(text)}" if text.strip() else ""

    def convert_summary(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """Bold, unless it has marks of its own or lies within a line."""
        if el.find_parent(["td", "dd"]):
            return f" {text.strip()} "
        mark = "" if el.find(["h1", "h2", "h3", "h4", "a", "strong"]) else "**"
        return f"\n\n{mark}{text.strip()}{mark}\n\n"

    convert_figcaption = convert_summary

    def convert_pre(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """A fenced block, with its syntax and a fence that the code does not end."""
        fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
        code = text.strip("\n")
        return f"\n\n{fence}{el.get('data-syntax', '')}\n{code}\n{fence}\n\n"

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """A cell; its text may contain the mark between cells."""
        cell = _on_one_line(text).replace("|", r"\|")
        return f" {cell} |"

    convert_th = convert_td


def _is_skipped(el: Tag) -> bool:
    return el.name in _SKIPPED or not _SKIPPED_CLASSES.isdisjoint(el.get("class") or ())


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def markdown(html: str, link: Callable[[str], str]) -> str:
    """Return a page as Markdown, with its anchors. link: returns the address that a link is to have."""
    main: Any = BeautifulSoup(html, "html.parser").main
    for one in main.find_all(_is_skipped):
        one.decompose()
    for one in main.find_all("pre"):
        # This drops the elements of the highlighting, which are most of the page.
        one.string = one.get_text()
    for one in main.find_all("a"):
        one["href"] = link(one.get("href", ""))
    for one in main.find_all(_WITH_ANCHORS, id=True):
        place = one.find(["th", "td"]) if one.name == "tr" else one
        place.insert(0, BeautifulSoup(f'<a id="{one["id"]}"></a>', "html.parser"))
    for one in main.find_all("br"):
        one.replace_with(" ")
    text: str = _Converter(heading_style=ATX, bullets="-", autolinks=False).convert_soup(main)
    return f"{text.strip()}\n"
