"""The signature doctor's page: input, result, refusals, and that it stores nothing."""

import io
import json
from collections.abc import Callable
from typing import Any, NoReturn
from urllib.parse import urlencode

import pytest

from partners.signing.diagnosis import diagnose
from portal.doctor import page as doctor_page
from tests.portal.reading import Page, read
from tests.support.client import Response, in_process

PATH = "/docs/doctor"
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
DIGEST = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
REQUEST = (
    "GET /v1/users/Zo%C3%AB/transactions?limit=50&cursor=2026-01-15T10%3A30%3A00.123456Z HTTP/1.1\n"
    f"X-Api-Key: psi_key_{'k' * 43}\n"
    "X-Request-Timestamp: 2026-01-15T10:31:00Z\n"
    f"X-Request-Signature: {'0123456789abcdef' * 4}\n"
    "\n"
)
RIGHT = [
    "GET",
    "/v1/users/Zo%C3%AB/transactions",
    "cursor=2026-01-15T10%3A30%3A00.123456Z&limit=50",
    "2026-01-15T10:31:00Z",
    "",
    DIGEST,
]


def canonical(**lines: str) -> str:
    """The right canonical request with other lines: `line3=…`."""
    return "\n".join(lines.get(f"line{number}", line) for number, line in enumerate(RIGHT, start=1))


def post(body: bytes, content_type: str, **headers: str) -> Response:
    return in_process("POST", PATH, {"Content-Type": content_type, **headers}, body)


def ask(request: str = REQUEST, theirs: str | None = None) -> Response:
    """Send the texts like a program."""
    return post(json.dumps({"request": request, "canonicalRequest": theirs}).encode(), JSON)


def fill_in(request: str = REQUEST, theirs: str = "") -> Response:
    """Send the form like a browser without JavaScript."""
    fields = {"request": request, "canonicalRequest": theirs}
    return post(urlencode({name: text.replace("\n", "\r\n") for name, text in fields.items()}).encode(), FORM)


def result(response: Response) -> Page:
    """The result's part of the page."""
    assert response.status == 200
    return Page(response.body.decode().split('id="result"')[1].split('id="try"')[0])


def message(response: Response) -> str:
    said: dict[str, str] = response.json()
    assert set(said) == {"message"}
    return said["message"]


def without_time(diagnosis: dict[str, Any]) -> dict[str, Any]:
    """The findings without their explanations, which depend on the time."""
    return diagnosis | {"findings": [one["cause"] for one in diagnosis["findings"]]}


def test_a_program_gets_the_diagnosis() -> None:
    theirs = canonical(line3="limit=50")
    response = ask(theirs=theirs)
    assert (response.status, response.header("Content-Type")) == (200, "application/json")
    assert response.header("Cache-Control") == "no-store"
    assert without_time(response.json()) == without_time(diagnose(REQUEST, theirs).as_json())


@pytest.mark.parametrize("theirs", [None, ""])
def test_without_a_canonical_request_there_is_nothing_to_compare(theirs: str | None) -> None:
    found = ask(theirs=theirs).json()
    assert found["canonicalRequest"] == canonical()
    assert found["firstDifference"] is None


def test_a_form_is_returned_with_its_texts() -> None:
    theirs = canonical(line3="limit=50")
    response = fill_in(theirs=theirs)
    assert response.header("Cache-Control") == "no-store"
    page = Page(response.body.decode())
    assert REQUEST.strip() in page.text.split("Your canonical request")[0]
    assert theirs in page.text


def test_the_first_difference_is_marked_and_described() -> None:
    page = result(fill_in(theirs=canonical(line3="cursor=2026-01-15T10:30:00.123456Z&limit=50")))
    assert "The first difference: line 3, byte 21" in page.text
    assert "Byte 21: ours has “%”, yours “:”." in page.text
    marked = [piece.split("</mark>")[0] for piece in page.source.split("<mark>")[1:]]
    assert marked == ["%", ":"]
    assert page.source.count('class="differs"') == 1


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        (canonical(line2="/v1/users/Zoë/transactions"), "Byte 13: ours has “%”, yours “ë” (U+00EB)."),
        (canonical(line2="/v1/users/Zo%c3%ab/transactions"), "Byte 14: ours has “C”, yours “c”."),
        (canonical(line1="GET "), "Byte 4: ours has the end of the line, yours “␠”."),
        (canonical(line4="2026-01-15T10:31:00"), "Byte 20: ours has “Z”, yours the end of the line."),
        (canonical(line1="\ufeffGET"), "Byte 1: ours has “G”, yours U+FEFF."),
    ],
)
def test_an_invisible_difference_is_described(theirs: str, said: str) -> None:
    assert said in result(fill_in(theirs=theirs)).text


def test_a_right_canonical_request_is_recognised() -> None:
    page = result(fill_in(theirs=canonical()))
    assert "Your canonical request is right" in page.text
    assert "<mark>" not in page.source


def test_extra_and_missing_lines_are_reported() -> None:
    assert (
        "1 line too many, empty: there is a line feed after the last line"
        in result(fill_in(theirs=canonical() + "\n")).text
    )
    assert "Missing line." in result(fill_in(theirs="\n".join(RIGHT[:5]))).text


def test_the_placeholder_has_six_lines_that_fit_the_box() -> None:
    (canonical_request,) = (text for text in read(PATH).values("placeholder") if text.startswith("GET\n"))
    lines = canonical_request.split("\n")
    assert len(lines) == 6
    assert max(map(len, lines)) < 40


def test_findings_are_shown_with_their_remedies() -> None:
    theirs = canonical(line3="cursor=2026-01-15T10:30:00.123456Z&limit=50")
    findings = ask(theirs=theirs).json()["findings"]
    assert findings
    text = result(fill_in(theirs=theirs)).text
    for finding in findings:
        assert finding["title"] in text
        assert finding["remedy"] in text


def test_candidates_are_on_the_page_for_the_browser() -> None:
    theirs = canonical(line6="something else")
    page = result(fill_in(theirs=theirs))
    tried = [json.loads(text) for text in page.values("data-canonical")]
    assert {canonical(), theirs} <= set(tried)
    assert {one["canonicalRequest"] for one in ask(theirs=theirs).json()["candidates"]} <= set(tried)
    assert "0123456789abcdef" * 4 in Page("<div" + page.source).values("data-signature")


def test_pasted_text_is_escaped() -> None:
    response = fill_in(theirs=canonical(line3="<script>alert(1)</script>"))
    assert "<script>alert" not in response.body.decode()
    assert "<script>alert(1)</script>" in result(response).text


def test_the_secret_has_a_field_that_no_form_sends() -> None:
    page = in_process("GET", PATH, {}, b"").body.decode()
    form = page.split("<form")[1].split("</form>")[0]
    field = next(one for one in Page(page).elements if one.attributes.get("type") == "password")
    assert 'type="password"' not in form
    assert "name" not in field.attributes
    assert field.attributes["autocomplete"] == "off"


# --- What is refused ---


@pytest.mark.parametrize("where", ["request", "canonicalRequest"])
@pytest.mark.parametrize("send", [ask, fill_in])
def test_a_secret_is_refused_and_not_shown_again(where: str, send: Callable[..., Response]) -> None:
    secret = "psi_secret_" + "s" * 43
    asked = {"request": REQUEST, "canonicalRequest": canonical(), where: f"{REQUEST}\n{secret}"}
    response = send(*asked.values())
    assert response.status == 400
    assert "The text contains a secret" in response.body.decode()
    assert secret not in response.body.decode()
    assert response.header("Cache-Control") == "no-store"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"GET"',
        b"\xff",
        b'{"request": 1}',
        b'{"request": "GET /v1/ping HTTP/1.1", "canonicalRequest": ["GET"]}',
        b"[" * 100_000,
        b"{}",
        b'{"request": " "}',
        b'{"request": "What is this?"}',
        json.dumps({"request": "GET /v1/ping\ud800 HTTP/1.1"}).encode(),
    ],
)
def test_invalid_json_is_refused(body: bytes) -> None:
    response = post(body, JSON)
    assert response.status == 400
    assert message(response)


@pytest.mark.parametrize("body", [b"", b"request=", b"request=%FF", b"\xff", b"&".join([b"a=1"] * 50), b"other=1"])
def test_an_invalid_form_is_refused_on_the_page(body: bytes) -> None:
    response = post(body, FORM)
    assert response.status == 400
    assert "No diagnosis." in response.body.decode()


@pytest.mark.parametrize("content_type", ["", "text/plain", "multipart/form-data; boundary=x", "application/xml"])
def test_another_media_type_is_refused(content_type: str) -> None:
    assert post(b"request=GET", content_type).status == 415


class Untouched(io.BytesIO):
    """A body that must not be read."""

    def read(self, *_: Any) -> NoReturn:
        raise AssertionError("read")


@pytest.mark.parametrize("declared", [str(256 * 1024 + 1), "9" * 30, "-1", "many"])
@pytest.mark.parametrize("content_type", [FORM, JSON])
def test_more_than_256_kib_is_refused_before_it_is_read(declared: str, content_type: str) -> None:
    headers = {"Content-Type": content_type, "Content-Length": declared}
    response = in_process("POST", PATH, headers, b"", stream=Untouched())
    assert response.status == 413
    assert "256 KiB" in response.body.decode()


def test_256_kib_are_read() -> None:
    body = json.dumps({"request": REQUEST, "padding": ""}).encode()
    filled = body[:-2] + b"x" * (256 * 1024 - len(body)) + body[-2:]
    assert len(filled) == 256 * 1024
    assert post(filled, JSON).status == 200


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS"])
def test_other_methods_are_refused(method: str) -> None:
    response = in_process(method, PATH, {}, b"")
    assert (response.status, response.header("Allow")) == (405, "GET, HEAD, POST")


@pytest.mark.parametrize("theirs", [canonical(), "nonsense", None])
def test_pasted_texts_are_not_logged(
    theirs: str | None, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ask(theirs=theirs).status == 200
    assert fill_in(theirs=theirs or "").status == 200
    assert ask(request="Zo%C3%AB nonsense").status == 400
    logged = caplog.text + "".join(capfd.readouterr())
    assert "docs/doctor" in logged
    for piece in ("Zo%C3%AB", "0123456789abcdef", "kkkkkkkk", "2026-01-15T10:31:00Z", "nonsense"):
        assert piece not in logged


def test_one_diagnosis_runs_at_a_time() -> None:
    with doctor_page.diagnosing:
        busy = ask()
        on_the_page = fill_in()
    assert (busy.status, busy.json()["message"]) == (503, "The doctor is busy: try again in a moment.")
    assert on_the_page.status == 503
    assert ask().status == 200
