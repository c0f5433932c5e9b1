"""The search of the docs."""

from urllib.parse import quote

import pytest

from portal import search
from tests.portal.reading import PAGES, Page, get, read


def found(query: str) -> list[tuple[str, str]]:
    """Page and title of each result."""
    return [(entry.page, entry.title) for entry, _ in search.search(query)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("idempotency key", ("Guide", "Idempotency")),
        ("RATE LIMIT", ("Guide", "Rate limits")),
        ("pagination", ("Guide", "Pagination")),
        ("sunset", ("Guide", "Deprecation")),
        ("register", ("Reference: Users", "Register a user")),
        ("updateUser", ("Reference: Users", "Update a user")),
        ("UserSummary", ("Reference: Schemas", "UserSummary")),
        ("user.documentWithdrawn", ("Reference: Webhooks", "user.documentWithdrawn")),
        ("canada", ("Countries", "CA Canada")),
        ("unreleased", ("Changelog", "Unreleased")),
        ("sdk", ("Guide", "Quick start")),
        ("typescript", ("Guide", "Quick start")),
        ("idempotncy", ("Guide", "Idempotency")),
        ("pagintaion", ("Guide", "Pagination")),
        ("webook", ("Guide", "Webhooks")),
        ("rate limt", ("Guide", "Rate limits")),
    ],
)
def test_the_best_section_comes_first(query: str, first: tuple[str, str]) -> None:
    assert found(query)[0] == first


def test_every_section_of_every_page_is_in_the_index() -> None:
    indexed = {entry.href for entry in search.index()}
    for path in PAGES:
        sections = [one.attributes["id"] for one in read(path).elements if one.tag == "section"]
        assert sections
        assert {f"{path}#{name}" for name in sections} <= indexed


def test_a_result_holds_all_of_the_words() -> None:
    assert found("cursor nextCursor")
    assert found("cursor xylophone") == []


@pytest.mark.parametrize("query", ["", "   ", "\0", "%00", "a", "e t a o"])
def test_an_empty_query_has_no_results(query: str) -> None:
    assert found(query) == []


def test_a_long_query_is_cut() -> None:
    assert found("idempotency " + "x" * 10_000) == []
    assert found("idempotency" + " " * 100 + "xylophone") == found("idempotency")


def test_results_are_links_to_sections() -> None:
    page = read("/docs/search?q=retry-after")
    links = [one.partition("#") for one in page.values("href") if "#" in one and one != "#main"]
    assert links
    ids = {path: read(path).values("id") for path in {path for path, _, _ in links}}
    assert [(path, anchor) for path, _, anchor in links if anchor not in ids[path]] == []
    assert "<mark>Retry-After</mark>" in page.source


def test_a_query_is_shown_as_text() -> None:
    response = get(f"/docs/search?q={quote('<script>alert(1)</script>')}")
    assert "<script>alert" not in response.body.decode()
    assert "No results" in response.body.decode()
    # A query must not be cached.
    assert response.header("Cache-Control") == "no-store"


@pytest.mark.parametrize("query", ["", "?q=", "?q=%FF%FE", "?q=a&q=b", "?" + "q=a&" * 900, "?q=.*("])
def test_any_query_has_a_page(query: str) -> None:
    response = get(f"/docs/search{query}")
    assert response.status == 200
    assert len([one for one in Page(response.body.decode()).elements if one.tag == "h1"]) == 1
