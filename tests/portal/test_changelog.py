"""The changelog's page, and files for programs."""

from portal.guide import changelog, example_files, guide
from tests.portal.reading import get, read

TEXT = """# Changelog

What it is for.

## [0.2.0] - 2026-12-01

### Added

For partners:

- A `field`, <b>and</b> more.
- Another.

For ops:

- A setting.

### Fixed

- A mistake.

## [0.1.0] - 2026-11-01

The first.
"""


def test_the_page_has_the_entries_for_partners() -> None:
    text = " ".join(read("/docs/changelog").text.split())
    assert "GET /v1/ping for the first signed call." in text
    assert "make bench" not in text
    assert "For partners:" not in text


def test_releases_have_the_entries_for_partners_only() -> None:
    newest, first = changelog.releases(TEXT)
    assert (newest.title, newest.id, first.title) == ("0.2.0", "release-0-2-0", "0.1.0")
    assert "<code>field</code>, &lt;b&gt;and&lt;/b&gt; more." in newest.html
    assert "A mistake." in newest.html
    assert "setting" not in newest.html
    assert "What it is for." not in newest.html


def test_the_date_of_a_release_is_shown() -> None:
    newest, _first = changelog.releases(TEXT)
    assert newest.date == "2026-12-01"


def test_llms_txt_links_to_existing_pages() -> None:
    text = get("/llms.txt").body.decode()
    assert text.startswith("# Partner Service Interface\n\n> ")
    links = [part.partition(")")[0] for part in text.split("](")[1:]]
    assert len(links) >= 6 + len(example_files.clients())
    for link in links:
        assert get(link.removeprefix("http://testserver")).status == 200, link
    assert all(title in text for _id, title in guide.SECTIONS)


def test_the_icon_has_the_sizes_of_tabs_and_shortcuts() -> None:
    icon = get("/favicon.ico").body
    count = int.from_bytes(icon[4:6], "little")
    assert (icon[:4], [icon[6 + 16 * number] for number in range(count)]) == (b"\0\0\1\0", [16, 32, 48])
