"""The pages of the docs: what the search looks through, what is there as Markdown too, what llms.txt lists."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

from django.urls import reverse

from portal.guide import changelog, go_live, guide
from portal.markdown import markdown
from portal.reference import countries, postman
from portal.reference import pages as reference


class Page(NamedTuple):
    """A page. render: returns its HTML for the address of a request. shows_address: it differs between addresses.

    about: in a few words, for llms.txt.
    """

    title: str
    path: str
    markdown_path: str
    render: Callable[[str], str]
    shows_address: bool
    about: str


def _page(title: str, path: str, render: Callable[[], str], about: str) -> Page:
    return Page(title, path, f"{path}.md", lambda _base_url: render(), shows_address=False, about=about)


def _page_with_address(title: str, path: str, render: Callable[[str], str], about: str, *, markdown: str = "") -> Page:
    return Page(title, path, markdown or f"{path}.md", render, shows_address=True, about=about)


@lru_cache(maxsize=1)
def pages() -> tuple[Page, ...]:
    """Return every page, in the order of reading."""
    return (
        _page_with_address(
            "Guide",
            reverse("docs"),
            guide.page,
            ", ".join(title for _, title in guide.SECTIONS),
            markdown=f"{reverse('docs')}/guide.md",
        ),
        _page_with_address(
            "Go live",
            reverse("docs_go_live"),
            go_live.page,
            "the integration in the sandbox, with scripts in Python, Node.js and Bash: "
            + ", ".join(title for _, title in go_live.SECTIONS),
        ),
        _page(
            "Reference",
            reverse("docs_reference"),
            reference.page,
            "the operations, and the headers of every request and response",
        ),
        *(
            _page(
                f"Reference: {reference.title(name)}",
                reference.path(name),
                partial(reference.page, name),
                reference.about(name),
            )
            for name in reference.names()
        ),
        _page("Countries", reverse("docs_countries"), countries.page, "postal codes and subdivisions by country"),
        _page_with_address(
            "Postman", reverse("docs_postman"), postman.page, "all operations in Postman, signed by a script"
        ),
        _page("Changelog", reverse("docs_changelog"), changelog.page, "changes by release"),
    )


@lru_cache(maxsize=64)
def as_markdown(page: Page, base_url: str) -> str:
    """Return a page as Markdown, made once in each process and for each address that it shows."""
    paths = {one.path: one.markdown_path for one in pages()}

    def link(address: str) -> str:
        path, mark, anchor = address.partition("#")
        return paths.get(path, path) + mark + anchor

    return markdown(page.render(base_url), link)
