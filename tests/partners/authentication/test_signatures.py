"""The canonical request and its signature: contract, section 3."""

import json
import random
import re
import string
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote_from_bytes, unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import encryption
from core.formats import parse_timestamp
from partners.authentication import signature_authentication, signatures
from partners.authentication.signature_authentication import VISIBLE_CHARACTERS, digest
from partners.models import ApiKey, Partner
from tests.examples.languages import API_KEY, REFUSED, ROOT, SECRET, VECTORS, Signed, by_the_service, signed, target
from tests.support.client import Headers, Response, in_process
from tests.support.database import undone
from tests.support.responses import assert_error

WORKED = json.loads((ROOT / "tests" / "signing-vectors.json").read_text())
NEVER_ENCODED = (string.ascii_letters + string.digits + "-._~").encode()

not_utf8 = st.tuples(st.binary(), st.sampled_from([b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\xc0\xaf"]), st.binary()).map(
    b"".join
)
pairs = st.lists(st.tuples(st.text(), st.text()))
# Hypothesis chooses the seed alone: a choice of its own for each character takes most of a test's time.
chances = st.integers(0, 2**32 - 1).map(random.Random)


def encode(chance: random.Random, text: bytes, literal: bytes = NEVER_ENCODED) -> str:
    """One of the many ways to percent-encode these bytes."""
    forms = [([chr(b)] if b in literal else []) + [f"%{b:02x}", f"%{b:02X}"] for b in text]
    return "".join(chance.choice(form) for form in forms)


def encode_query(chance: random.Random, sent: list[tuple[str, str]]) -> bytes:
    """One of the many ways to send these pairs in this order."""

    def part(text: str) -> str:
        return encode(chance, text.encode()).replace("%20", chance.choice(["%20", "+"]))

    return "&".join(f"{part(name)}={part(value)}" for name, value in sent).encode()


def test_published_vectors_have_their_canonical_request_and_signature(subtests: pytest.Subtests) -> None:
    for vector in VECTORS:
        with subtests.test(vector["id"]):
            canonical, signature = by_the_service(signed(vector), SECRET)
            assert (canonical, signature) == (vector["canonicalRequest"], vector["signature"])
            assert signatures.verify(SECRET, canonical, vector.get("signatureAsSent", signature))


def test_the_first_published_vectors_are_the_worked_examples() -> None:
    count = len(WORKED["vectors"])
    published = [{name: v[name] for name in v if name not in {"id", "about"}} for v in VECTORS[:count]]
    assert (count, published, SECRET) == (4, WORKED["vectors"], WORKED["secret"])


PATHS = {
    "/v1/ping": "/v1/ping",
    "/v1/users/a%2Fb": "/v1/users/a/b",
    "/v1/users/caf%c3%a9": "/v1/users/caf%C3%A9",
    "/v1/users/%61": "/v1/users/a",
    "/v1/users/a+b": "/v1/users/a%2Bb",
    "/v1/users/100%": "/v1/users/100%25",
    "/v1/users/%zz%4": "/v1/users/%25zz%254",
    "/v1/users/~!*'()": "/v1/users/~%21%2A%27%28%29",
    "/v1/users/a;b=c@d:e": "/v1/users/a%3Bb%3Dc%40d%3Ae",
}


def test_a_path_has_one_canonical_form() -> None:
    assert {sent: signatures.canonical_path(unquote_to_bytes(sent)) for sent in PATHS} == PATHS


QUERIES = {
    "": "",
    "&&": "",
    "a": "a=",
    "a=": "a=",
    "=a": "=a",
    "=": "=",
    "a=b=c": "a=b%3Dc",
    "a=1&&b=2&": "a=1&b=2",
    "b=1&a=2": "a=2&b=1",
    "a=2&a=1&a=10": "a=1&a=10&a=2",
    "a=1&a=1": "a=1&a=1",
    "a+b=c+d": "a%20b=c%20d",
    "a%2Bb=1": "a%2Bb=1",
    "a=/x": "a=%2Fx",
    "a=%zz&b=%": "a=%25zz&b=%25",
    # By encoded name, not by decoded name and not by the joined text.
    "a=1&%C3%A9=2": "%C3%A9=2&a=1",
    "a-=1&a=1": "a=1&a-=1",
    "B=1&a=2&A=3": "A=3&B=1&a=2",
}


def test_a_query_has_one_canonical_form() -> None:
    assert {sent: signatures.canonical_query(sent.encode()) for sent in QUERIES} == QUERIES


@given(chances, st.text())
def test_every_encoding_of_a_path_has_the_same_canonical_form(chance: random.Random, text: str) -> None:
    sent = encode(chance, text.encode(), NEVER_ENCODED + b"/")
    canonical = signatures.canonical_path(unquote_to_bytes(sent))
    assert canonical == quote_from_bytes(text.encode(), safe="/")
    assert signatures.canonical_path(unquote_to_bytes(canonical)) == canonical
    assert re.fullmatch(r"(?:[A-Za-z0-9\-._~/]|%[0-9A-F]{2})*", canonical)


@given(chances, pairs)
def test_order_and_encoding_of_a_query_do_not_matter(chance: random.Random, sent: list[tuple[str, str]]) -> None:
    canonical = signatures.canonical_query(encode_query(chance, sent))
    assert signatures.canonical_query(encode_query(chance, chance.sample(sent, len(sent)))) == canonical
    assert signatures.canonical_query(canonical.encode()) == canonical
    assert re.fullmatch(r"(?:[A-Za-z0-9\-._~=&]|%[0-9A-F]{2})*", canonical)
    assert sorted(signatures.query_pairs(canonical.encode())) == sorted(sent)


@given(not_utf8)
def test_a_path_that_is_not_utf8_has_no_canonical_form(path: bytes) -> None:
    with pytest.raises(signatures.NotUtf8Error):
        signatures.canonical_path(path)


@given(not_utf8, st.sampled_from([b"%s=1", b"a=%s", b"a=1&%s"]))
def test_a_query_that_is_not_utf8_has_no_canonical_form(part: bytes, query: bytes) -> None:
    with pytest.raises(signatures.NotUtf8Error):
        signatures.canonical_query(query % quote_from_bytes(part, safe="").encode())


@given(st.text(), st.text(), st.binary())
def test_a_canonical_request_is_six_lines(path: str, value: str, body: bytes) -> None:
    query = f"a={quote_from_bytes(value.encode())}".encode()
    canonical = signatures.canonical_request("GET", path.encode(), query, "when", "key", body)
    assert [line for i, line in enumerate(canonical.split("\n")) if i in {0, 3, 4}] == ["GET", "when", "key"]
    assert len(canonical.split("\n")) == 6


def test_a_wrong_signature_is_refused() -> None:
    wrong = ("", "00", "0" * 63, "0" * 65, "g" * 64, "0x" + "0" * 62, "0" * 32 + " " + "0" * 32, "٠" * 64, "0" * 64)
    assert [signature for signature in wrong if signatures.verify("secret", "canonical", signature)] == []


@given(st.text(min_size=1), st.text(), chances)
def test_a_signature_is_accepted_in_any_letter_case(secret: str, canonical: str, chance: random.Random) -> None:
    signature = signatures.sign(secret, canonical)
    mixed = "".join(chance.choice([c, c.upper()]) for c in signature)
    assert signatures.verify(secret, canonical, mixed)
    assert not signatures.verify(secret + "x", canonical, mixed)


INSTANTS = {
    "2026-01-15T10:30:00Z": "2026-01-15T10:30:00",
    "2026-01-15t10:30:00z": "2026-01-15T10:30:00",
    "2026-01-15T10:30:00+00:00": "2026-01-15T10:30:00",
    "2026-01-15T10:30:00-00:00": "2026-01-15T10:30:00",
    "2026-01-15T10:30:00+01:00": "2026-01-15T09:30:00",
    "2026-01-15T23:30:00-23:59": "2026-01-16T23:29:00",
    "2026-01-15T00:30:00+05:30": "2026-01-14T19:00:00",
    "2026-01-15T10:30:00.1Z": "2026-01-15T10:30:00.100000",
    "2026-01-15T10:30:00.25Z": "2026-01-15T10:30:00.250000",
    "2026-01-15T10:30:00.123456Z": "2026-01-15T10:30:00.123456",
    "2026-01-15T10:30:00.123456789012345678901234567890Z": "2026-01-15T10:30:00.123456",
    "2026-01-15T10:30:00.9999999+01:00": "2026-01-15T09:30:00.999999",
    "2024-02-29T00:00:00Z": "2024-02-29T00:00:00",
    "2016-12-31T23:59:60Z": "2017-01-01T00:00:00",
    "2016-12-31T18:59:60.5-05:00": "2017-01-01T00:00:00.500000",
    "0001-01-01T00:00:00Z": "0001-01-01T00:00:00",
}


def test_a_timestamp_names_an_instant() -> None:
    found = {text: parse_timestamp(text) for text in INSTANTS}
    assert found == {text: datetime.fromisoformat(one).replace(tzinfo=UTC) for text, one in INSTANTS.items()}


NO_TIMESTAMPS = [
    *("", "now", "1768473000", "2026-01-15", "2026-01-15T10:30Z", "2026-01-15T10Z", "2026-01-15T10:30:00"),
    *("2026-01-15 10:30:00Z", "2026-01-15_10:30:00Z", "20260115T103000Z", "2026-W03-4T10:30:00Z"),
    *("2026-015T10:30:00Z", "26-01-15T10:30:00Z", "+2026-01-15T10:30:00Z", "02026-01-15T10:30:00Z"),
    *("2026-1-15T10:30:00Z", "2026-01-15T1:30:00Z", "2026-13-15T10:30:00Z", "2026-02-29T10:30:00Z"),
    *("2026-00-15T10:30:00Z", "0000-01-15T10:30:00Z", "2026-01-15T24:00:00Z", "2026-01-15T10:60:00Z"),
    *("2026-01-15T10:30:61Z", "2026-01-15T10:30:60Z", "2026-01-15T23:59:60Z", "2026-01-31T23:59:60+01:00"),
    *("2026-01-15T10:30:00.Z", "2026-01-15T10:30:00,5Z", "2026-01-15T10:30:00+01", "2026-01-15T10:30:00+0100"),
    *("2026-01-15T10:30:00+01:00:00", "2026-01-15T10:30:00+24:00", "2026-01-15T10:30:00+01:60"),
    *("2026-01-15T10:30:00 Z", "2026-01-15T10:30:00UTC", "2026-01-15T10:30:00−01:00", " 2026-01-15T10:30:00Z"),
    *("2026-01-15T10:30:00Z ", "2026-01-15T10:30:00Z\n", "2026-01-15T10:30:00Z,2026-01-15T10:30:00Z"),
    *("٢٠٢٦-٠١-١٥T١٠:٣٠:٠٠Z", "２０２６-01-15T10:30:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:00-00:01"),
    "9999-12-31T23:59:60Z",
]


def test_other_forms_are_no_timestamp(subtests: pytest.Subtests) -> None:
    for text in NO_TIMESTAMPS:
        with subtests.test(text), pytest.raises(ValueError, match=r"not an|must be|out of range|[Ii]nvalid"):
            parse_timestamp(text)


@given(st.text("0123456789", min_size=1, max_size=60))
def test_a_timestamp_takes_any_number_of_fraction_digits(digits: str) -> None:
    assert parse_timestamp(f"2026-01-15T10:30:00.{digits}Z") == datetime(
        2026, 1, 15, 10, 30, 0, int(digits[:6].ljust(6, "0")), tzinfo=UTC
    )


@given(
    st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 12, 31)),  # noqa: DTZ001 - the offset follows
    st.integers(-23 * 60 - 59, 23 * 60 + 59),
)
def test_a_timestamp_of_any_offset_is_read_back(moment: datetime, minutes: int) -> None:
    aware = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert parse_timestamp(aware.isoformat()) == aware


# The published vectors, sent to the service with its clock set: what should be accepted is, and nothing else

Send = Callable[[Signed, Headers, str], Response]


@pytest.fixture
def send(partner: Partner, monkeypatch: pytest.MonkeyPatch) -> Send:
    """Sends a request, with these headers, to a service that knows the published key and has this time."""
    ApiKey.objects.create(
        partner=partner,
        prefix=API_KEY[: len("psi_key_") + VISIBLE_CHARACTERS],
        digest=digest(API_KEY),
        encrypted_secret=encryption.encrypt(SECRET, purpose=encryption.API_SECRETS),
    )

    def send(request: Signed, headers: Headers, now: str) -> Response:
        clock = SimpleNamespace(now=parse_timestamp(now).astimezone)
        monkeypatch.setattr(signature_authentication, "datetime", clock)
        with undone():
            return in_process(request.method, request.target, headers, request.body.encode())

    return send


def headers_of(request: Signed, signature: str) -> Headers:
    headers = {"X-Api-Key": API_KEY, "X-Request-Timestamp": request.timestamp, "X-Request-Signature": signature}
    key = {"Idempotency-Key": request.key} if request.key else {}
    return headers | key | {"Content-Type": "application/json"}


def sent(entry: dict[str, Any]) -> Signed:
    """A refused request, as its sender should have signed it."""
    headers = entry["headers"]
    stamp, key = headers.get("X-Request-Timestamp", entry["now"]), headers.get("Idempotency-Key", "")
    return Signed(entry["method"], target(entry), stamp, key, entry["body"])


def assert_accepted(response: Response) -> None:
    """Whatever was asked for, whoever asked is known."""
    assert response.status in {200, 201, 400, 404}, response.body
    assert response.header("RateLimit")


def test_a_vector_is_accepted(send: Send, subtests: pytest.Subtests) -> None:
    for vector in VECTORS:
        with subtests.test(vector["id"]):
            request = signed(vector)
            signature = vector.get("signatureAsSent", vector["signature"])
            assert_accepted(send(request, headers_of(request, signature), request.timestamp))


def test_a_refused_vector_is_refused_and_has_no_other_mistake(send: Send, subtests: pytest.Subtests) -> None:
    for entry in REFUSED:
        with subtests.test(entry["id"]):
            response = send(sent(entry), entry["headers"], entry["now"])
            assert assert_error(response, entry["status"])["error"] == entry["error"]
            assert response.header("RateLimit") is None
            if entry["error"] == "unauthorized":
                corrected = replace(sent(entry), timestamp=entry["now"])
                _canonical, signature = by_the_service(corrected, SECRET)
                assert_accepted(send(corrected, headers_of(corrected, signature), entry["now"]))
