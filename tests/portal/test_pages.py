"""The docs: public pages and files, under a strict policy, and true to the code."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from pytest_django.fixtures import Settings

from partners.api import errors, idempotency
from partners.api.json import MAX_BODY_BYTES
from partners.api.pagination import DEFAULT_LIMIT, MAX_LIMIT
from partners.rates import parse_rate
from portal import openapi
from portal.guide import guide as guide_page
from tests import factories
from tests.portal.reading import PAGES, Page, get, read
from tests.support.client import PartnerClient, in_process
from users.models.statuses import TRANSITIONS
from users.profile.field_rules import ADULT_YEARS

DOCS = Path(settings.BASE_DIR) / "docs"
EXAMPLES = DOCS / "examples"
CLIENTS = Path(settings.BASE_DIR) / "clients"
FILES = {
    "/openapi.json": "application/json",
    "/docs/signing-vectors.json": "application/json",
    "/docs/examples/psi.py": "text/plain; charset=utf-8",
    "/docs/examples/ping.py": "text/plain; charset=utf-8",
    "/llms.txt": "text/plain; charset=utf-8",
    "/favicon.ico": "image/x-icon",
}
# They contain the address of their request.
OF_ONE_ADDRESS = {"/docs", "/docs/go-live", "/docs/postman", "/llms.txt"}
OTHERS = (
    "https://www.rfc-editor.org/rfc/",
    "https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/",
    "https://www.standardwebhooks.com",
)


@pytest.fixture(scope="module")
def guide() -> Page:
    return read("/docs")


@pytest.fixture(scope="module")
def go_live() -> Page:
    return read("/docs/go-live")


@pytest.fixture
def other_settings(settings: Settings) -> Iterator[Settings]:
    """Settings of another process: each process renders the guide once."""
    guide_page.page.cache_clear()
    yield settings
    guide_page.page.cache_clear()


@pytest.fixture(scope="module")
def vectors() -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = json.loads((DOCS / "signing-vectors.json").read_bytes())
    return found


@pytest.mark.parametrize("path", [*PAGES, *FILES])
def test_a_page_is_public_cached_for_minutes_and_sets_no_cookie(path: str) -> None:
    response = get(path, Cookie="sessionid=somebody")
    assert response.status == 200
    assert response.header("Content-Type") == FILES.get(path, "text/html; charset=utf-8")
    whose = "private" if path in OF_ONE_ADDRESS else "public"
    assert response.header("Cache-Control") == f"{whose}, max-age=300"
    assert response.header("X-Content-Type-Options") == "nosniff"
    assert response.header("Content-Length") == str(len(response.body))
    assert (response.header("Set-Cookie"), response.header("Vary")) == (None, None)


@pytest.mark.parametrize("path", [*PAGES, *FILES])
def test_an_unchanged_page_is_a_304(path: str) -> None:
    etag = get(path).header("ETag")
    assert etag
    again = get(path, If_None_Match=etag)
    assert (again.status, again.body, again.header("ETag")) == (304, b"", etag)


@pytest.mark.parametrize("path", [*PAGES, "/docs/nowhere"])
def test_the_policy_allows_own_files_only(path: str) -> None:
    policy = dict(line.split(" ", 1) for line in (get(path).header("Content-Security-Policy") or "").split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == policy["form-action"] == "'self'"
    assert "unsafe" not in str(policy)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_complies_with_its_policy(path: str) -> None:
    page = read(path)
    assert not page.values("style")
    assert not [element.tag for element in page.elements if element.tag == "style"]
    assert all("src" in element.attributes for element in page.elements if element.tag == "script")
    assert not [name for element in page.elements for name in element.attributes if name.startswith("on")]


@pytest.mark.parametrize("path", PAGES)
def test_every_link_of_a_page_has_a_target(path: str) -> None:
    page = read(path)
    for link in {*page.values("href"), *page.values("src"), *page.values("action")}:
        target, _, anchor = link.partition("#")
        if link.startswith("https://"):
            assert link.startswith(OTHERS), link
        elif target.startswith("/static/"):
            assert finders.find(target.removeprefix("/static/")), link
        else:
            assert target == "" or get(target).status == 200, link
            there = page if not target else read(target) if anchor else None
            assert there is None or anchor in there.values("id"), link


@pytest.mark.parametrize("path", PAGES)
def test_what_a_page_refers_to_by_its_id_is_there_once(path: str) -> None:
    page = read(path)
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    referred = [one for name in ("for", "aria-describedby", "aria-labelledby") for one in page.values(name)]
    assert set(referred) <= set(ids)


@pytest.mark.parametrize("path", [*PAGES, "/docs/nowhere"])
def test_a_page_says_what_it_is(path: str) -> None:
    page = Page(get(path).body.decode())
    assert [element.attributes["lang"] for element in page.elements if element.tag == "html"] == ["en"]
    assert "Partner Service Interface" in page.text.split("\n")[0] + page.text[:400]
    assert [e for e in page.elements if e.tag == "meta" and e.attributes.get("name") == "description"]
    assert len([e for e in page.elements if e.tag == "h1"]) == 1


@pytest.mark.parametrize("path", [*PAGES, *FILES])
def test_a_head_tells_what_a_get_would(path: str) -> None:
    response, head = get(path), in_process("HEAD", path, {}, b"")
    for name in ("Content-Type", "Content-Length", "ETag", "Cache-Control"):
        assert head.header(name) == response.header(name)


@pytest.mark.parametrize(
    "path", ["/docs", "/docs/reference", "/docs/reference/users", "/docs/countries", "/docs/guide.md", *FILES]
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_only_get_and_head_are_allowed(path: str, method: str) -> None:
    response = in_process(method, path, {}, b"")
    assert (response.status, response.header("Allow")) == (405, "GET, HEAD")
    assert (response.header("Content-Length"), response.header("Cache-Control")) == (
        str(len(response.body)),
        "no-store",
    )


@pytest.mark.parametrize(
    "path",
    [
        "/docs/nowhere",
        "/docs/guide/",
        "/docs/%0A",
        "/docs/examples/nowhere.py",
        "/docs/examples/snippets",
        "/docs/examples/snippets/ping.py",
        "/docs/examples/..%2Fsigning-vectors.json",
        "/docs/examples/..%2F..%2F.env",
        "/docs/examples/.",
    ],
)
def test_unknown_paths_have_a_404_page(path: str) -> None:
    response = get(path)
    assert (response.status, response.header("Cache-Control")) == (404, "no-store")
    assert "Page not found" in response.body.decode()


def test_a_trailing_slash_is_redirected() -> None:
    response = get("/docs/")
    assert (response.status, response.header("Location")) == (301, "/docs")


# --- The guide is true to the code ---


def examples() -> dict[str, Path]:
    """The files of docs/examples, without what Python leaves there when another test has imported one, and clients."""
    files = [path for path in EXAMPLES.rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
    assert len({path.name for path in files}) == len(files) >= 7
    return {path.name: path for path in files} | {
        "psi.py": CLIENTS / "python" / "src" / "psi" / "__init__.py",
        "psi.mjs": CLIENTS / "node" / "psi.mjs",
    }


def test_every_example_is_shown_as_it_is(guide: Page, go_live: Page) -> None:
    for name, path in examples().items():
        page = go_live if path.parent.name == "go_live" else guide
        assert path.read_text() in page.code, name


@pytest.mark.parametrize("path", ["/docs", "/docs/reference/users"])
def test_highlighted_code_uses_existing_colours(path: str) -> None:
    classes = {name for value in read(path).values("class") for name in value.split() if name.startswith("hl-")}
    style = Path(str(finders.find("docs/code.css"))).read_text()
    assert classes >= {"hl-keyword", "hl-string", "hl-comment", "hl-name", "hl-constant"}
    assert all(f".{name} " in style for name in classes)


def test_every_example_can_be_downloaded(guide: Page, go_live: Page) -> None:
    for name, path in examples().items():
        response = get(f"/docs/examples/{name}")
        assert (response.status, response.body) == (200, path.read_bytes())
        assert response.header("Content-Type") == "text/plain; charset=utf-8"
        assert f'filename="{name}"' in (response.header("Content-Disposition") or "")
        assert f"/docs/examples/{name}" in [*guide.values("href"), *go_live.values("href")]


def test_the_vectors_are_the_published_file() -> None:
    assert get("/docs/signing-vectors.json").body == (DOCS / "signing-vectors.json").read_bytes()


def test_the_quick_start_sets_the_variables_that_the_clients_read(guide: Page) -> None:
    exported = next(code for code in guide.code if code.startswith("export "))
    names = [line.removeprefix("export ").partition("=")[0] for line in exported.splitlines()]
    assert len(names) == 3
    for client in ("psi.py", "psi.mjs", "psi.sh"):
        source = examples()[client].read_text()
        assert all(name in source for name in names), client


def test_every_example_shows_a_key_of_the_sandbox(guide: Page, go_live: Page) -> None:
    exported = [code for page in (guide, go_live) for code in page.code if "PSI_API_KEY=" in code]
    assert len(exported) > 5
    for code in exported:
        assert "psi_key_" not in code
        assert "psi_secret_" not in code
    assert "The live key comes last" in guide.text


def test_every_status_reason_is_explained(guide: Page) -> None:
    fields = openapi.document()["components"]["schemas"]["UserSummary"]["properties"]
    reasons = set(fields["statusReason"]["x-extensible-enum"])
    assert len(reasons) > 5
    assert reasons <= set(guide.code)


def test_the_quick_start_names_this_service(guide: Page) -> None:
    assert "export PSI_BASE_URL='http://testserver'" in guide.text


def test_the_worked_example_is_the_first_vector(guide: Page, vectors: dict[str, list[dict[str, str]]]) -> None:
    vector = vectors["vectors"][0]
    for shown in (vector["body"], vector["canonicalRequest"], vector["signature"]):
        assert shown in guide.code
    for line in vector["canonicalRequest"].split("\n"):
        assert not line or line in guide.code
    request = next(code for code in guide.code if code.startswith(f"{vector['method']} {vector['path']} HTTP/1.1"))
    assert f"X-Request-Signature: {vector['signature']}\n" in request
    assert request.endswith("\n\n" + vector["body"])


def test_numbers_come_from_the_code(guide: Page) -> None:
    text = " ".join(guide.text.split())
    rate = parse_rate(settings.PARTNER_RATE_LIMIT)
    hours = int(idempotency.WINDOW.total_seconds()) // 3600
    for said in (
        f"At most {settings.CLOCK_SKEW_SECONDS} seconds from our clock",
        f"{MAX_BODY_BYTES // 1024} KiB ({MAX_BODY_BYTES} bytes)",
        f"within {hours} hours",
        f"1 to {MAX_LIMIT}, default {DEFAULT_LIMIT}",
        f"{rate.amount} requests in {rate.seconds} seconds",
        f'RateLimit-Policy: "default";q={rate.amount};w={rate.seconds}',
        f"The user is under {ADULT_YEARS}.",
    ):
        assert said in text, said


def test_both_parts_of_the_vectors_are_described(guide: Page, vectors: dict[str, list[dict[str, str]]]) -> None:
    section = Page(guide.source.split('<section id="vectors">')[1].split("</section>")[0])
    text = " ".join(section.text.split())
    assert f"vectors holds {len(vectors['vectors'])} requests" in text
    assert f"refused holds {len(vectors['refused'])} requests that get a 401 or a 400" in text
    names = {name for part in ("vectors", "refused") for entry in vectors[part] for name in entry}
    assert names - {"id"} <= set(section.code)


@pytest.mark.parametrize(("redis", "apart"), [("", True), ("redis://127.0.0.1:1/0", False)])
def test_separate_counts_of_processes_are_mentioned_without_redis(
    other_settings: Settings, redis: str, *, apart: bool
) -> None:
    other_settings.REDIS_URL = redis
    assert ("processes counts for itself" in read("/docs").text) is apart


def test_numbers_follow_the_settings(other_settings: Settings) -> None:
    other_settings.PARTNER_RATE_LIMIT, other_settings.CLOCK_SKEW_SECONDS = "17/hour", 41
    text = " ".join(read("/docs").text.split())
    assert "17 requests in 3600 seconds" in text
    assert "At most 41 seconds from our clock" in text


def test_every_transition_of_a_status_is_shown(guide: Page) -> None:
    moves = {(start.value, end.value) for start, ends in TRANSITIONS.items() for end in ends}
    drawn = [e.attributes for e in guide.elements if e.tag == "path" and "data-from" in e.attributes]
    assert {(one["data-from"], one["data-to"]) for one in drawn} == moves
    assert guide.values("data-status") == [status.value for status in TRANSITIONS]
    for status, ends in TRANSITIONS.items():
        row = (
            guide.source.split(f'data-status="{status.value}"')[1].split("</tr>")[0].split('data-name="May become"')[1]
        )
        assert Page("<p" + row).code == [end.value for end in ends]


def test_every_error_is_in_the_table(guide: Page) -> None:
    told = Page(guide.source.split('class="cards errors"')[1].split("</table>")[0]).text
    kinds: list[type[errors.ApiError]] = [errors.ApiError, *all_below(errors.ApiError)]
    for error in kinds:
        assert f"{error.status_code}{error.code}" in told, error


def all_below(kind: type[errors.ApiError]) -> list[type[errors.ApiError]]:
    return [one for below in kind.__subclasses__() for one in (below, *all_below(below))]


def test_every_message_of_a_401_is_explained(api: PartnerClient, create_user: Callable[..., object]) -> None:
    create_user(externalId="cust-1")
    path, change = "/v1/users/cust-1", {"city": "Ottawa"}
    once = "2099-01-01T00:00:00Z"
    refusals = [
        api.get("/v1/ping", headers={"X-Api-Key": None}),
        api.get("/v1/ping", timestamp="yesterday"),
        api.get("/v1/ping", timestamp=once),
        api.get("/v1/ping", secret="another"),
    ]
    signed = api.headers("PATCH", path, json.dumps(change).encode(), key=None, timestamp=None, secret=None)
    assert in_process("PATCH", path, signed, json.dumps(change).encode()).status == 200
    refusals.append(in_process("PATCH", path, signed, json.dumps(change).encode()))
    text = read("/docs").text
    for refusal in refusals:
        assert refusal.status == 401
        said = refusal.json()["message"].replace("X-Api-Key is missing", "… is missing")
        assert said.partition("which is")[0] in text, said


def test_the_example_error_is_a_real_response(api: PartnerClient, guide: Page) -> None:
    shown = json.loads(next(code for code in guide.code if code.startswith("{") and "fieldErrors" in code))
    response = api.post("/v1/users", factories.user_body(email="nobody", dateOfBirth="1990")).json()
    assert shown | {"requestId": ""} == response | {"requestId": ""}
