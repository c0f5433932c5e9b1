"""The pages of /docs as they are served: to everybody, without a session, under a strict policy."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from django.conf import settings

from docs_site.conf import example_files
from tests import factories
from tests.docs_site.site import PAGES, PAGES_OF_MARKDOWN, ROOT, page, text
from tests.support.client import PartnerClient, Response, in_process

INLINE = re.compile(r"<(script|style)(?: [^>]*)?>(.*?)</\1>", re.DOTALL)


def get(path: str, **headers: str) -> Response:
    return in_process("GET", path, {name.replace("_", "-"): value for name, value in headers.items()}, b"")


def policy(response: Response) -> dict[str, str]:
    return dict(line.split(" ", 1) for line in (response.header("Content-Security-Policy") or "").split("; "))


@pytest.mark.parametrize("path", [*PAGES, "/docs/searchindex.js", "/docs/_static/pages.css", "/docs/examples/psi.py"])
def test_a_page_is_public_and_sets_no_cookie(path: str) -> None:
    response = get(path, Cookie="sessionid=somebody")
    kinds = {".js": "text/javascript", ".css": "text/css", ".py": "text/plain"}
    kind = next((kind for suffix, kind in kinds.items() if path.endswith(suffix)), "text/html")
    assert (response.status, response.header("Content-Type")) == (200, f'{kind}; charset="utf-8"')
    assert "public" in (response.header("Cache-Control") or "")
    assert response.header("X-Content-Type-Options") == "nosniff"
    assert response.header("Set-Cookie") is None
    assert "Cookie" not in (response.header("Vary") or "")
    unchanged = get(path, If_Modified_Since=str(response.header("Last-Modified")))
    assert (unchanged.status, unchanged.body) == (304, b"")


@pytest.mark.parametrize("path", [*PAGES, "/docs/nowhere"])
def test_the_policy_allows_own_files_and_what_each_page_has_inline(path: str) -> None:
    response = get(path)
    allowed, source = policy(response), response.body.decode()
    assert allowed["default-src"] == allowed["frame-ancestors"] == allowed["base-uri"] == "'none'"
    assert allowed["connect-src"] == allowed["form-action"] == "'self'"
    assert "unsafe-inline" not in str(allowed)
    assert "unsafe-eval" not in str(allowed)
    styles = re.findall(r' style="([^"]*)"', source)
    inline = [*(one for one in INLINE.findall(source) if one[1]), *(("style-attr", style) for style in styles)]
    assert {kind for kind, _ in inline} == {"script", "style", "style-attr"}
    for kind, shown in inline:
        digest = base64.b64encode(hashlib.sha256(shown.encode()).digest()).decode()
        source_list = {"script": "script-src", "style": "style-src", "style-attr": "style-src-attr"}[kind]
        assert f"'sha256-{digest}'" in allowed[source_list], (kind, shown[:100])


@pytest.mark.parametrize(
    ("path", "location"), [("/docs", "docs/"), ("/docs/go-live", "go-live/"), ("/docs/index.html", "./")]
)
def test_an_address_without_a_slash_is_redirected(path: str, location: str) -> None:
    response = get(path)
    assert (response.status, response.header("Location")) == (302, location)


@pytest.mark.parametrize(
    "path", ["/docs/nowhere", "/docs/%0A", "/docs/examples/", "/docs/..%2F..%2F.env", "/docs/go-live/nothing.css"]
)
def test_an_unknown_path_has_a_404_page_with_links_that_work_there(path: str) -> None:
    response = get(path)
    assert (response.status, response.header("Cache-Control")) == (404, "no-store")
    found = re.findall(r'(?:href|src)="([^"#]+)', response.body.decode())
    assert len(found) > 10
    assert {target for target in found if not target.startswith(("/docs/", "https://"))} == set()
    assert {get(target.partition("?")[0]).status for target in found if target[0] == "/"} == {200}


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_page_is_only_read(method: str) -> None:
    assert in_process(method, "/docs/", {}, b"").status == 405
    assert in_process("HEAD", "/docs/", {}, b"").header("Content-Length") == get("/docs/").header("Content-Length")


def test_every_example_is_downloaded_as_it_is() -> None:
    assert len(example_files()) > 60
    for name, path in example_files().items():
        assert get(f"/docs/examples/{name}").body == path.read_bytes(), f"{name}: make docs"


def test_every_link_has_a_target() -> None:
    others: dict[str, str] = {}
    for path in PAGES:
        for link in {*page(path).values("href"), *page(path).values("src"), *page(path).values("action")}:
            target, _, anchor = link.partition("#")
            if target.startswith("https://"):
                continue
            whole = path if not target else _absolute(path, target.partition("?")[0])
            if whole in PAGES:
                assert not anchor or anchor in page(whole).values("id"), (path, link)
            else:
                others.setdefault(whole, path)
    for whole, path in others.items():
        assert get(whole).status == 200, (path, whole)


def _absolute(path: str, target: str) -> str:
    parts = [] if target.startswith("/") else path.rpartition("/")[0].split("/")[1:]
    for part in target.removeprefix("/").split("/"):
        parts = parts[:-1] if part == ".." else parts if part == "." else [*parts, part]
    return "/" + "/".join(parts)


# The heading of the search is made in the browser.
@pytest.mark.parametrize("path", [path for path in PAGES if path != "/docs/search/"])
def test_headings_are_nested(path: str) -> None:
    levels = [int(tag[1]) for tag, _ in page(path).elements if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))


def test_the_pages_are_outside_of_git() -> None:
    assert ROOT.is_relative_to(settings.BASE_DIR / ".local")


# What the pages say is what the service answers; the rest is in tests/lint/test_pages.py


def test_every_message_of_a_401_is_explained(api: PartnerClient, create_user: Callable[..., object]) -> None:
    create_user(externalId="cust-1")
    path, body = "/v1/users/cust-1", json.dumps({"city": "Ottawa"}).encode()
    refusals = [
        api.get("/v1/ping", headers={"X-Api-Key": None}),
        api.get("/v1/ping", timestamp="yesterday"),
        api.get("/v1/ping", timestamp="2099-01-01T00:00:00Z"),
        api.get("/v1/ping", secret="another"),
    ]
    signed = api.headers("PATCH", path, body, key=None, timestamp=None, secret=None)
    assert in_process("PATCH", path, signed, body).status == 200
    refusals.append(in_process("PATCH", path, signed, body))
    for refusal in refusals:
        said = refusal.json()["message"].replace("X-Api-Key is missing", "… is missing").partition("which is")[0]
        assert (refusal.status, said in text("authentication")) == (401, True), said


def test_the_example_of_an_error_is_a_real_response(api: PartnerClient) -> None:
    shown = json.loads((PAGES_OF_MARKDOWN / "errors.md").read_text().split("```json")[1].split("```")[0])
    response = api.post("/v1/users", factories.user_body(email="nobody", dateOfBirth="1990")).json()
    assert shown | {"requestId": ""} == response | {"requestId": ""}
