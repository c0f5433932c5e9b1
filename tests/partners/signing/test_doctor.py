"""The signature doctor: its diagnosis of requests and canonical requests."""

import base64
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partners.authentication import keys
from partners.models import Partner
from partners.signing import signatures
from partners.signing.causes import CAUSES, LINES
from partners.signing.checks import API_KEY as API_KEY_FORM
from partners.signing.diagnosis import MAX_CANDIDATES
from partners.signing.parsing import MAX_TEXT_LENGTH, NotUnderstoodError, SecretPastedError
from tests.partners.signing.cases import (
    API_KEY,
    CASES,
    GET,
    LIST,
    PING,
    POST,
    SIGNATURE,
    Case,
    examine,
    hmac_of_ping,
    raw,
    right,
    signed,
)

WORKED = json.loads((Path(__file__).parents[2] / "signing-vectors.json").read_text())
SECRET = WORKED["secret"]
LINE_NAMES = [part.name for part in LINES]


def found(result: dict[str, Any]) -> set[str]:
    return {finding["cause"] for finding in result["findings"]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_mistake_has_its_cause_and_no_other(case: Case) -> None:
    assert found(examine(case.request, case.canonical)) == case.causes


def test_every_cause_has_a_case_and_one_meaning() -> None:
    assert sorted(CAUSES) == sorted(set().union(*(case.causes for case in CASES)))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code) for code in CAUSES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_findings_are_whole_sentences(case: Case) -> None:
    for finding in examine(case.request, case.canonical)["findings"]:
        assert finding["level"] in {"error", "warning", "note"}
        assert finding["line"] in {None, *LINE_NAMES}
        assert finding["explanation"].endswith(".")
        assert finding["remedy"].endswith(".")
        assert not re.search(r"\{[a-z]+(:g)?\}", finding["explanation"])


def curl_of(vector: dict[str, Any], headers: dict[str, str]) -> str:
    options = " ".join(f"-H '{name}: {value}'" for name, value in headers.items())
    body = "" if not vector["body"] else f" --data-raw '{vector['body']}'"
    url = f"https://partners.example{vector['path']}" + (f"?{vector['query']}" if vector["query"] else "")
    return f"curl -X {vector['method']} '{url}' {options}{body}"


@pytest.mark.parametrize("vector", WORKED["vectors"], ids=lambda v: v["method"] + v["path"])
def test_signing_vectors_are_parsed_as_they_are_signed(vector: dict[str, Any]) -> None:
    headers = {"X-Request-Timestamp": vector["timestamp"], "X-Request-Signature": vector["signature"]}
    if vector["idempotencyKey"]:
        headers["Idempotency-Key"] = vector["idempotencyKey"]
    target = vector["path"] + (f"?{vector['query']}" if vector["query"] else "")
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    for request in (f"{vector['method']} {target} HTTP/1.1\r\n{head}\r\n{vector['body']}", curl_of(vector, headers)):
        result = examine(request, None)
        assert result["canonicalRequest"] == vector["canonicalRequest"]
        assert result["signature"] == vector["signature"]


def test_both_canonical_requests_are_compared_line_by_line() -> None:
    result = examine(LIST, signed(LIST, query="limit=50") + "\nmore\n")
    assert [line["name"] for line in result["lines"]] == LINE_NAMES
    assert [line["ours"] for line in result["lines"]] == result["canonicalRequest"].split("\n")
    assert [line["name"] for line in result["lines"] if line["differs"]] == ["query"]
    assert result["lines"][2]["firstDifference"] == 0
    assert result["firstDifference"] == {"line": 3, "byte": 0, "offset": len("GET\n/v1/users/u/transactions\n")}
    assert result["extraLines"] == ["more", ""]


def test_differences_are_counted_in_bytes() -> None:
    request = raw(Idempotency_Key="é1")
    result = examine(request, signed(request, key="é2"))
    assert result["lines"][4]["firstDifference"] == 2
    assert result["firstDifference"]["byte"] == 2


def test_a_canonical_request_that_ends_early_differs_where_it_ends() -> None:
    result = examine(PING, "GET\n/v1/pi")
    assert result["firstDifference"] == {"line": 2, "byte": 6, "offset": 10}
    assert [line["theirs"] for line in result["lines"]] == ["GET", "/v1/pi", None, None, None, None]
    assert [line["differs"] for line in result["lines"]] == [False, True, True, True, True, True]


@pytest.mark.parametrize("canonical", [None, ""])
def test_without_a_canonical_request_nothing_differs(canonical: str | None) -> None:
    result = examine(PING, canonical)
    assert result["firstDifference"] is None
    assert not any(line["differs"] or line["theirs"] is not None for line in result["lines"])


def test_the_parsed_request_is_part_of_the_diagnosis() -> None:
    seen = ["Host", "X-Api-Key", "X-Request-Timestamp", "X-Request-Signature", "Content-Type", "Idempotency-Key"]
    parsed = {"method": "POST", "target": "/v1/users", "headersSeen": seen, "bodyBytes": len(right(POST)[5]) - 20}
    assert examine(POST, None)["request"] == parsed


def explanation(request: str, canonical: str | None = None) -> str:
    return " ".join(finding["explanation"] for finding in examine(request, canonical)["findings"])


def test_without_a_canonical_request_the_diagnosis_names_its_limits() -> None:
    (finding,) = examine(PING, None)["findings"]
    assert finding["title"] == "This request is well formed"
    assert "cannot be seen" in finding["explanation"]
    assert finding["remedy"] == "To find the difference, paste the canonical request that your program built."


def test_a_signature_under_an_empty_secret_over_a_wrong_text_has_both_mistakes() -> None:
    signature = hmac_of_ping(b"", "\r\n")
    assert "The signed text is wrong too" in explanation(raw(X_Request_Signature=signature))
    assert "wrong too" not in explanation(raw(X_Request_Signature=hmac_of_ping(b"")))


def test_a_signature_under_an_empty_secret_is_recognised_with_a_canonical_request_too() -> None:
    assert "the HMAC under an empty secret" in explanation(
        raw(X_Request_Signature=hmac_of_ping(b"")), "\n".join(right(PING))
    )


@pytest.mark.parametrize(
    ("timestamp", "said"),
    [
        ("2026-01-15T09:30:00Z", "about 1 hour,"),
        ("2026-01-15T08:30:00Z", "about 2 hours,"),
        ("2026-01-15T16:00:00Z", "about 5.5 hours,"),
        ("2026-01-15T10:45:00Z", "about 15 minutes,"),
        ("2020-01-15T10:30:00Z", "189,388,800 seconds behind"),
    ],
)
def test_durations_have_the_right_plural(timestamp: str, said: str) -> None:
    assert said in explanation(raw(X_Request_Timestamp=timestamp))


def test_one_second_is_one_second() -> None:
    theirs = signed(PING, timestamp="2026-01-15T10:30:01Z")
    assert "Line 4 is 1 second later" in explanation(PING, theirs)
    assert "Yours has 1 line too many." in explanation(PING, "\n".join(["x", *right(PING)]))


@pytest.mark.parametrize("request_", [GET, LIST, PING, POST, raw(target="/gw/v1/users/%2f%3a?a=/&b=%20&a=:&c")])
def test_candidates_are_few_and_distinct_and_the_right_one_is_first(request_: str) -> None:
    result = examine(request_, None)
    texts = [candidate["canonicalRequest"] for candidate in result["candidates"]]
    assert texts[0] == result["canonicalRequest"]
    assert result["candidates"][0]["cause"] == "correct"
    assert len(texts) == len(set(texts)) <= MAX_CANDIDATES
    assert {candidate["cause"] for candidate in result["candidates"]} - {"correct"} <= set(CAUSES)


@pytest.mark.parametrize(
    ("request_", "cause"),
    [
        (POST, "crlf"),
        (POST, "line-feed-at-end"),
        (POST, "body-serialised-again"),
        (POST, "body-not-hashed"),
        (POST, "body-digest-upper-case"),
        (POST, "body-itself"),
        (POST, "idempotency-key-case"),
        (POST, "timestamp-reformatted"),
        (POST, "method-not-upper-case"),
        (POST, "wrong-line-order"),
        (POST, "empty-line-missing"),
        (LIST, "query-unsorted"),
        (LIST, "query-decoded"),
        (LIST, "query-in-path"),
        (LIST, "url-instead-of-path"),
        (GET, "path-decoded"),
        (raw(target="/v1/ping?b=%61&&a"), "query-as-sent"),
        (raw(target="/v1/%70ing"), "path-as-sent"),
    ],
)
def test_a_signature_over_a_mistake_is_found_among_the_candidates(request_: str, cause: str) -> None:
    assert cause in {candidate["cause"] for candidate in examine(request_, None)["candidates"]}


def test_each_candidate_as_canonical_request_has_its_cause() -> None:
    for request in (GET, LIST, POST, PING):
        for candidate in examine(request, None)["candidates"][1:]:
            causes_found = found(examine(request, candidate["canonicalRequest"]))
            assert candidate["cause"] in causes_found, candidate


def test_a_request_that_cannot_be_signed_has_no_candidates() -> None:
    assert examine(raw(target="/v1/users/%FF"), None)["candidates"] == []


@pytest.mark.parametrize(
    "form",
    [SECRET, f"'{SECRET}'", "cHNpX3NlY3JldF9aazN2WDljUTFtVDdyQjVuVzh5TDJkRjZoSjRnSzBwQQ==", SECRET.encode().hex()],
)
def test_a_secret_is_refused_anywhere_and_not_repeated(form: str) -> None:
    for request, canonical in [(raw(X_Api_Key=form), None), (raw(body=form), None), (PING, f"GET\n{form}")]:
        with pytest.raises(SecretPastedError, match="rotate that key") as refusal:
            examine(request, canonical)
        assert form not in str(refusal.value)


@pytest.mark.parametrize(
    ("request_", "canonical"),
    [
        (PING, None),
        (raw(target=f"/v1/ping?key={API_KEY}"), None),
        (raw(Idempotency_Key=API_KEY), None),
        (raw("POST", "/v1/users", API_KEY), None),
        (PING, f"GET\n{API_KEY}\n{API_KEY}"),
        (f"curl https://{API_KEY}@partners.example/v1/ping -u {API_KEY} -H 'X-Api-Key: {API_KEY}'", None),
    ],
)
def test_no_api_key_is_repeated(request_: str, canonical: str | None) -> None:
    assert API_KEY not in json.dumps(examine(request_, canonical))


@pytest.mark.django_db
def test_issued_keys_have_the_expected_form() -> None:
    partner = Partner.objects.create(slug="formed", name="Formed")
    assert API_KEY_FORM.fullmatch(keys.issue(partner=partner).api_key)


def test_the_allowed_clock_skew_is_a_parameter() -> None:
    request = raw(X_Request_Timestamp="2026-01-15T10:30:59Z")
    assert "clock-ahead" not in found(examine(request, None, clock_skew_seconds=60))
    assert "clock-ahead" in found(examine(request, None, clock_skew_seconds=58))


def test_the_clock_skew_is_in_the_explanation() -> None:
    result = examine(raw(X_Request_Timestamp="2026-01-15T10:35:01Z"), None)
    assert "301 seconds ahead" in result["findings"][0]["explanation"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "hello",
        "GET",
        "GET ping HTTP/1.1",
        "G{T /v1 HTTP/1.1",
        "curl",
        "curl -X POST",
        "curl 'https://x/v1",
        "curl $'https://x/v1\\n'",
        "curl x -X 'A B'",
        "GET /v1/" + "x" * 9_000,
        "x" * (MAX_TEXT_LENGTH + 1),
        "\ud800",
    ],
)
def test_text_that_is_no_request_is_refused_with_a_message(text: str) -> None:
    with pytest.raises(NotUnderstoodError, match=r"\w+ \w+"):
        examine(text, None)


def check_whole(request: str, canonical: str | None) -> None:
    try:
        result = examine(request, canonical)
    except NotUnderstoodError:
        return
    json.dumps(result).encode()
    assert [line["ours"] for line in result["lines"]] == result["canonicalRequest"].split("\n")
    assert len(result["lines"]) == 6
    assert result["findings"]


@given(st.text(), st.none() | st.text())
def test_any_text_has_a_diagnosis_or_a_message(text: str, canonical: str | None) -> None:
    check_whole(text, canonical)


@given(st.sampled_from(["curl ", "GET /v1/", "POST /v1 HTTP/1.1\n"]), st.text(), st.none() | st.text())
def test_any_text_that_begins_like_a_request_has_a_diagnosis_or_a_message(
    start: str, text: str, canonical: str | None
) -> None:
    check_whole(start + text, canonical)


@given(st.lists(st.sampled_from([*"'\"\\$^&#?@:; \n\r", "-d", "-H", "-X", "--json", "x", "/v1/", "a=b", "%2", "%41"])))
def test_any_command_has_a_diagnosis_or_a_message(words: list[str]) -> None:
    check_whole("curl https://x/v1 " + "".join(words), None)


values = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20)


@given(
    method=st.sampled_from(["GET", "POST", "PATCH"]),
    path=st.binary(max_size=20),
    query=st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=4),
    timestamp=values,
    key=values,
    body=st.text(max_size=50),
    canonical=st.none() | st.text(),
)
def test_the_canonical_request_is_the_one_of_the_contract(
    method: str, path: bytes, query: list[tuple[str, str]], timestamp: str, key: str, body: str, canonical: str | None
) -> None:
    decoded = b"/v1/users/" + path
    sent = "&".join("=".join(quote_from_bytes(part.encode()) for part in pair) for pair in query)
    target = quote_from_bytes(decoded) + (f"?{sent}" if sent else "")
    request = f"{method} {target} HTTP/1.1\nX-Request-Timestamp: {timestamp}\nIdempotency-Key: {key}\n\n{body}"
    result = examine(request, canonical or None)
    try:
        expected = signatures.canonical_request(method, decoded, sent.encode(), timestamp, key, body.encode())
    except signatures.NotUtf8Error:
        assert "path-not-utf8" in found(result)
    else:
        assert result["canonicalRequest"] == expected


@pytest.mark.parametrize(
    "text",
    [
        "curl https://x/v1/users -d '" + "x" * 190_000 + "'",
        "curl https://x/v1/users -d '" + "\\'" * 60_000 + "'",
        "curl https://x/v1/users -d $'" + "\\u00e9" * 30_000 + "'",
        "curl https://x/v1/users " + "a " * 39_000,
        "curl https://x/v1/users -d '" + "x" * 79_000 + "'",
        "curl https://x/v1/users " + "$" * 190_000,
        "curl https://x/v1/users --json '" + json.dumps([{"a": 1.5, "b": "é"}] * 3_000) + "'",
        raw("POST", "/v1/users", "[" * 60_000),
        raw("POST", "/v1/users", "[" * 900 + "1," * 30_000 + "1" + "]" * 900),
        raw("POST", "/v1/users", "[" * 7 + "1," * 30_000 + "1" + "]" * 7),
        raw("POST", "/v1/users", json.dumps([1e308] * 10_000)),
        raw("POST", "/v1/users", "\n" * 190_000),
        raw("POST", "/v1/users", json.dumps([{str(n): n / 7} for n in range(2_000)])),
        "GET /v1/ping HTTP/1.1\n" + "a: b\n" * 38_000,
        raw(target="/v1/ping?" + "&".join(f"k{n}=%2f" for n in range(800))),
    ],
    ids=lambda text: text[:40],
)
def test_the_largest_texts_have_a_diagnosis_or_a_message(text: str) -> None:
    check_whole(text, "GET\n" * 40_000)
    check_whole(text, "x" * MAX_TEXT_LENGTH)


def test_a_hex_signature_is_converted_to_lower_case() -> None:
    assert examine(raw(X_Request_Signature=SIGNATURE.upper()), None)["signature"] == SIGNATURE
    assert examine(raw(X_Request_Signature="c2lnbmVk"), None)["signature"] is None


@pytest.mark.parametrize(
    "request_",
    [
        raw(target=f"/v1/ping?s={SECRET.replace('_', '%5F')}"),
        f"curl $'https://x/v1/ping?s={SECRET.replace('_', chr(92) + 'x5f')}'",
        f"curl https://x/v1/ping?s={SECRET.replace('secret', 'sec' + chr(92) + 'ret')}",
        raw(body=base64.b64encode(b"a" + SECRET.encode()).decode()),
        raw(body=base64.b64encode(b"ab" + SECRET.encode()).decode()),
    ],
    ids=["percent-encoded", "escaped for a shell", "with a backslash", "in Base64, one on", "in Base64, two on"],
)
def test_an_encoded_secret_is_refused_too(request_: str) -> None:
    with pytest.raises(SecretPastedError):
        examine(request_, None)


@pytest.mark.parametrize("request_", [raw(X_Api_Key=SECRET), f"curl https://partners.example -H 'X-Api-Key: {SECRET}'"])
def test_a_secret_in_place_of_the_key_is_told(request_: str) -> None:
    with pytest.raises(SecretPastedError, match="key and secret are exchanged"):
        examine(request_, None)


@pytest.mark.parametrize("target", ["/v1/ping?k={}", "/v1/{}"])
def test_an_encoded_api_key_is_masked(target: str) -> None:
    key = "psi_key_" + "Aa0" * 14 + "Z"
    shown = json.dumps(examine(raw(target=target.format(key.replace("_", "%5f").replace("p", "%70"))), None))
    assert key not in shown
    assert "psi_key_Aa0Aa0Aa" in shown


@pytest.mark.parametrize(
    ("content_type", "is_json"),
    [
        ("application/json; foo=bar", True),
        ('application/json; charset="UTF-8"', True),
        ("application/json; charset=latin-1", False),
        ("text/json", False),
    ],
)
def test_the_media_type_is_read_as_the_service_reads_it(content_type: str, *, is_json: bool) -> None:
    found_causes = found(examine(raw("POST", "/v1/users", "{}", Content_Type=content_type), None))
    assert ("content-type-other" not in found_causes) is is_json


@pytest.mark.parametrize("text", ["sudo curl https://x/v1/ping -H 'a: b'", "time curl https://x/v1/ping"])
def test_a_word_before_curl_is_not_a_method(text: str) -> None:
    with pytest.raises(NotUnderstoodError):
        examine(text, None)
