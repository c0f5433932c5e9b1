"""The pages as Markdown: the same text and code, for programs that read."""

import pytest
from markdown_it import MarkdownIt

from portal import site
from portal.markdown import markdown
from tests.portal.reading import Page, get, read

PAGES = [(page.path, page.markdown_path) for page in site.pages()]


def rendered(path: str) -> Page:
    """A page's Markdown as HTML again."""
    return Page(MarkdownIt("commonmark").enable("table").render(get(path).body.decode()))


def blocks(page: Page) -> list[str]:
    return [code.strip("\n") for code in page.code if "\n" in code.strip("\n")]


@pytest.mark.parametrize(("path", "as_markdown"), PAGES)
def test_a_page_is_there_as_markdown(path: str, as_markdown: str) -> None:
    response = get(as_markdown)
    assert (response.status, response.header("Content-Type")) == (200, "text/markdown; charset=utf-8")
    shared = "private" if path in {"/docs", "/docs/go-live", "/docs/postman"} else "public"
    assert response.header("Cache-Control") == f"{shared}, max-age=300"
    assert response.body.decode().startswith("# ")


@pytest.mark.parametrize(("path", "as_markdown"), PAGES)
def test_it_has_the_code_and_the_headings_of_the_page(path: str, as_markdown: str) -> None:
    page, text = read(path), rendered(as_markdown)
    assert set(blocks(page)) <= set(blocks(text))
    headings = {f"<{e.tag}" for e in page.elements if e.tag in {"h1", "h2"}}
    assert headings <= {f"<{e.tag}" for e in text.elements}


@pytest.mark.parametrize(
    ("as_markdown", "said"),
    [
        ("/docs/guide.md", "Register users, update their details"),
        ("/docs/guide.md", "| `active` | Approved. | `suspended`, `closed` |"),
        ("/docs/reference/users.md", "`firstName` string required: The given names"),
        ("/docs/reference.md", "- `X-Sandbox-Fault` string"),
        ("/docs/countries.md", "`CA` Canada | **required** | `ana nan` |"),
        ("/docs/changelog.md", "## Unreleased"),
        ("/docs/go-live.md", "http://testserver"),
    ],
)
def test_it_has_the_text_of_the_page(as_markdown: str, said: str) -> None:
    assert said in get(as_markdown).body.decode()


@pytest.mark.parametrize(("path", "as_markdown"), PAGES)
def test_its_links_lead_to_markdown_where_there_is_any(path: str, as_markdown: str) -> None:
    links = [link for link in rendered(as_markdown).values("href") if not link.startswith("https://")]
    for link in links:
        path, _, anchor = link.partition("#")
        target = get(path or as_markdown)
        assert target.status == 200
        assert not anchor or f'<a id="{anchor}"></a>' in target.body.decode(), link
    assert not {link.partition("#")[0] for link in links} & {page for page, _ in PAGES}


@pytest.mark.parametrize(("path", "as_markdown"), PAGES)
def test_a_page_names_its_markdown(path: str, as_markdown: str) -> None:
    page = read(path)
    alternates = [one.attributes["href"] for one in page.elements if one.attributes.get("rel") == "alternate"]
    assert alternates == [as_markdown]
    assert f"](http://testserver{as_markdown})" in get("/llms.txt").body.decode()


@pytest.mark.parametrize("path", ["/docs/nothing.md", "/docs/.md", "/docs/reference/nothing.md", "/docs/x/../guide.md"])
def test_unknown_markdown_is_a_404(path: str) -> None:
    assert get(path).status == 404


def test_marks_in_text_are_escaped() -> None:
    html = "<main><p>2 * 3 &lt; 7 and a_b, _c_</p><pre>``` `</pre><p>use <code>a`b</code></p></main>"
    text = markdown(html, lambda address: address)
    again = Page(MarkdownIt("commonmark").render(text))
    assert "2 * 3 < 7 and a_b, _c_" in again.text
    assert [code.strip() for code in again.code] == ["``` `", "a`b"]
