"""`manage.py explain_signature`: the signature doctor in a terminal."""

import base64
import hmac
import io
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils.timezone import now

from partners.authentication import keys
from partners.models import ApiKey, Mode, Partner
from partners.signing import signatures
from tests.factories import PartnerFactory
from tests.partners.signing.cases import API_KEY, GET, LIST, POST, SIGNATURE, examine, raw, right, signed
from tests.support.commands import outcome, printed, refusal, run

pytestmark = pytest.mark.django_db


@pytest.fixture
def pasted(tmp_path: Path) -> Any:
    """Writes a text to a file, and answers its name."""

    def write(text: str, name: str = "request") -> str:
        path = tmp_path / name
        path.write_bytes(text.encode())
        return str(path)

    return write


def send(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))


def test_both_canonical_requests_are_printed_with_a_mark_where_they_differ(pasted: Any) -> None:
    theirs = pasted(signed(GET, query="a=x/y%3A%20z~%21&b=2"), "canonical")
    lines = printed("explain_signature", pasted(GET), "--canonical", theirs).splitlines()
    assert "  1 method                GET" in lines
    ours = lines.index("  3 query          ours:  a=x%2Fy%3A%20z~%21&b=2")
    assert lines[ours + 1] == " " * 19 + "yours: a=x/y%3A%20z~%21&b=2"
    assert lines[ours + 2] == " " * 29 + "^ byte 3"
    assert "ERROR: A slash of the query is not encoded (query) [query-slash-left]" in lines


def test_lines_that_are_missing_or_left_over_are_shown(pasted: Any) -> None:
    short = printed("explain_signature", pasted(POST), "--canonical", pasted("POST", "canonical"))
    assert f"  2 path           ours:  /v1/users\n{' ' * 19}yours: (not there)\n" in short
    longer = printed("explain_signature", pasted(POST), "--canonical", pasted(signed(POST) + "\nmore", "canonical"))
    assert f"{' ' * 19}yours: more\n" in longer


def test_json_is_the_same_as_on_the_doctors_page(pasted: Any) -> None:
    told = outcome("explain_signature", pasted(LIST), "--canonical", pasted(signed(LIST, query=""), "canonical"))
    expected = examine(LIST, signed(LIST, query=""))
    # The clock has gone on since.
    for response in (told, expected):
        response["findings"] = [f["cause"] for f in response["findings"] if f["line"] != "timestamp"]
    assert told == expected


def test_the_request_may_come_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in ((), ("-",)):
        send(GET.encode(), monkeypatch)
        assert outcome("explain_signature", *arguments)["canonicalRequest"].split("\n") == right(GET)


def test_line_ends_are_read_as_they_are(pasted: Any) -> None:
    theirs = pasted("\r\n".join(right(POST)), "canonical")
    told = outcome("explain_signature", pasted(POST), "--canonical", theirs)
    assert "crlf" in {finding["cause"] for finding in told["findings"]}
    assert "yours: POST\\r\n" in printed("explain_signature", pasted(POST), "--canonical", theirs)


def test_a_diagnosis_is_an_answer(pasted: Any) -> None:
    end = run("explain_signature", pasted(raw(X_Api_Key=None)))
    assert (end.status, end.errors) == (0, "")
    assert "[api-key-missing]" in end.output


def test_control_characters_are_escaped(pasted: Any) -> None:
    request = raw(target="/v1/ping?a=\x1b[2J", Idempotency_Key="\x1b]0;x\x07\u202e")
    text = printed("explain_signature", pasted(request), "--canonical", pasted("GET\n\x1b[31m\x9b", "canonical"))
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "\\x1b[31m\\x9b" in text


def test_the_skew_is_the_configured_one(pasted: Any, settings: Any) -> None:
    settings.CLOCK_SKEW_SECONDS = 3600
    early = (now() - timedelta(seconds=400)).isoformat()
    assert "clock" not in printed("explain_signature", pasted(raw(X_Request_Timestamp=early)))
    settings.CLOCK_SKEW_SECONDS = 300
    assert "[clock-behind]" in printed("explain_signature", pasted(raw(X_Request_Timestamp=early)))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"hello", "no request line"),
        (b"\xff", "UTF-8"),
        (b"x" * 200_001, "longer"),
        (b"x" * 900_000, "longer"),
        (b"GET /v1/ping\nX-Api-Key: psi_secret_" + b"x" * 43, "rotate that key"),
    ],
)
def test_a_text_that_is_no_request_is_a_one_line_error(content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "request").write_bytes(content)
    assert words in refusal("explain_signature", str(tmp_path / "request"))


def test_files_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    assert "cannot be read" in refusal("explain_signature", str(tmp_path / "none"))
    assert "cannot be read" in refusal("explain_signature", str(tmp_path))
    assert "standard input" in refusal("explain_signature", "--canonical", "-")


TARGET = "/v1/users/u/transactions?limit=50&cursor=a%3Ab"
RIGHT = "\n".join(right(raw(target=TARGET)))


@pytest.fixture
def issued() -> keys.IssuedKey:
    return keys.issue(partner=PartnerFactory.create(slug="asking"))


def request_of(api_key: str, signature: str) -> str:
    return raw(target=TARGET, X_Api_Key=api_key, X_Request_Signature=signature)


def verified(path: str, *arguments: str) -> Any:
    return outcome("explain_signature", path, "--verify", *arguments)["verification"]


def test_a_matching_signature_is_reported(pasted: Any, issued: keys.IssuedKey) -> None:
    request = pasted(request_of(issued.api_key, signatures.sign(issued.secret, RIGHT)))
    told = verified(request)
    assert told["apiKey"] == {"state": "active", "prefix": issued.record.prefix, "partner": "asking"}
    assert (told["fits"]["cause"], told["fits"]["secretForm"]) == ("correct", "as issued")
    lines = printed("explain_signature", request, "--verify").splitlines()
    # The result comes first.
    assert lines[:3] == [
        f"API key {issued.record.prefix} of asking is in force.",
        "The signature matches the request. It was refused for its timestamp, unless it arrived in time.",
        "",
    ]
    assert next(iter(outcome("explain_signature", request, "--verify"))) == "verification"


@pytest.mark.parametrize(
    ("seconds", "cause", "said"),
    [
        (-3600, "local-time-as-utc", "It was refused for its timestamp, unless it arrived in time."),
        (-400, "clock-behind", "It was refused for its timestamp, unless it arrived in time."),
        (0, "canonical-right", "The signature matches the request."),
        (400, "clock-ahead", "It is refused for its timestamp, which is ahead."),
        (7200, "local-time-ahead", "It is refused for its timestamp, which is ahead."),
    ],
)
def test_signature_and_clock_are_told_apart(
    pasted: Any, issued: keys.IssuedKey, seconds: int, cause: str, said: str
) -> None:
    timestamp = (now() + timedelta(seconds=seconds)).isoformat()
    canonical = "\n".join(right(raw(X_Request_Timestamp=timestamp)))
    signature = signatures.sign(issued.secret, canonical)
    request = pasted(raw(X_Api_Key=issued.api_key, X_Request_Timestamp=timestamp, X_Request_Signature=signature))
    arguments = ("explain_signature", request, "--canonical", pasted(canonical, "canonical"), "--verify")
    text = printed(*arguments)
    assert text.splitlines()[1].endswith(said)
    assert f"[{cause}]" in text
    # Nothing says that the HMAC is wrong, which it is not, nor that a time ahead may be that of an old request.
    assert "the HMAC or the key is wrong" not in text
    assert ("if you sent the request earlier" in text) is (seconds < 0)


@pytest.mark.parametrize(
    ("wrong", "cause"),
    [
        (RIGHT.replace("\n", "\r\n"), "crlf"),
        (RIGHT.replace("cursor=a%3Ab&limit=50", "limit=50&cursor=a%3Ab"), "query-unsorted"),
        (RIGHT.replace("cursor=a%3Ab", "cursor=a:b"), "query-decoded"),
    ],
)
def test_the_mistake_that_a_signature_matches_is_reported(
    pasted: Any, issued: keys.IssuedKey, wrong: str, cause: str
) -> None:
    request = pasted(request_of(issued.api_key, signatures.sign(issued.secret, wrong)))
    assert verified(request)["fits"]["cause"] == cause
    assert printed("explain_signature", request, "--verify").splitlines()[1].endswith(f"[{cause}]")


def test_another_form_of_the_secret_is_reported(pasted: Any, issued: keys.IssuedKey) -> None:
    bare = issued.secret.removeprefix(keys.SECRET_PREFIXES[Mode.LIVE])
    for key, form in [(bare.encode(), "without its prefix"), (base64.urlsafe_b64decode(bare + "="), "from Base64")]:
        signature = hmac.new(key, RIGHT.encode(), "sha256").hexdigest()
        fits = verified(pasted(request_of(issued.api_key, signature)))["fits"]
        assert fits["cause"] == "correct"
        assert form in fits["secretForm"]


def test_a_signature_in_another_form_is_tried_too(pasted: Any, issued: keys.IssuedKey) -> None:
    signature = signatures.sign(issued.secret, RIGHT)
    for form in (signature.upper(), f"sha256={signature}", base64.b64encode(bytes.fromhex(signature)).decode()):
        assert verified(pasted(request_of(issued.api_key, form)))["fits"]["cause"] == "correct"


def test_the_pasted_canonical_request_is_tried_too(pasted: Any, issued: keys.IssuedKey) -> None:
    request = pasted(request_of(issued.api_key, signatures.sign(issued.secret, "something else")))
    assert verified(request)["fits"] is None
    assert "matches none of" in printed("explain_signature", request, "--verify")
    assert verified(request, "--canonical", pasted("something else", "canonical"))["fits"]["cause"] == "own"


def revoke(record: ApiKey) -> None:
    keys.revoke(record)


def expire(record: ApiKey) -> None:
    ApiKey.objects.filter(pk=record.pk).update(expires_at=now() - timedelta(hours=1))


def disable(record: ApiKey) -> None:
    Partner.objects.filter(pk=record.partner_id).update(enabled=False)


def lose_secret(record: ApiKey) -> None:
    ApiKey.objects.filter(pk=record.pk).update(encrypted_secret="lost")


@pytest.mark.parametrize(
    ("happen", "state", "fits"),
    [
        (revoke, "revoked", 1),
        (expire, "expired", 1),
        (disable, "partnerDisabled", 1),
        (lose_secret, "secretLost", 0),
    ],
)
def test_a_key_that_is_not_in_force_is_reported(
    pasted: Any, issued: keys.IssuedKey, happen: Callable[[ApiKey], None], state: str, fits: int
) -> None:
    request = pasted(request_of(issued.api_key, signatures.sign(issued.secret, RIGHT)))
    happen(issued.record)
    told = verified(request)
    assert (told["apiKey"]["state"], told["fits"] is not None) == (state, bool(fits))
    assert issued.record.prefix in printed("explain_signature", request, "--verify").splitlines()[0]


@pytest.mark.parametrize(("api_key", "state"), [(API_KEY, "unknown"), ("", "missing")])
def test_without_a_known_key_nothing_is_tried(pasted: Any, api_key: str, state: str) -> None:
    told = verified(pasted(request_of(api_key, SIGNATURE)))
    assert told == {"apiKey": {"state": state, "prefix": None, "partner": None}, "tried": 0, "fits": None}


def test_neither_secret_nor_key_nor_signature_is_printed(pasted: Any, issued: keys.IssuedKey) -> None:
    request = pasted(request_of(issued.api_key, signatures.sign(issued.secret, RIGHT)))
    for text in (printed("explain_signature", request, "--verify"), json.dumps(verified(request))):
        assert issued.secret.removeprefix(keys.SECRET_PREFIXES[Mode.LIVE]) not in text
        assert issued.api_key not in text
        assert signatures.sign(issued.secret, RIGHT) not in text
