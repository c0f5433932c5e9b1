"""Why a request was refused, from the request as it arrived and the key's secret: contract, section 11.

In contrast to `diagnose`, which anybody may ask, the work is bounded: mistakes of a long line are tried in few forms,
and so many bytes at most are signed. Neither the secret nor the right signature is in the result.
"""

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from partners.signing import checks, signatures, verification
from partners.signing.causes import BODY, CAUSES, LINES, PATH, QUERY, TIMESTAMP, Finding, finding, first_finding
from partners.signing.diagnosis import CORRECT, Candidate, likely_texts
from partners.signing.mistakes import WrongLine, instant, wrong_lines
from partners.signing.request import WRITES, PastedRequest

# Up to these lengths in bytes all mistakes of a line are tried, above them those of `_few_mistakes`. Indenting JSON
# costs the product of size and depth.
MAX_LENGTHS = {PATH: 512, QUERY: 192, BODY: 1024}
MAX_BRACKETS = 12
# Nothing is tried for a longer request line with its headers; no larger JSON is serialised again.
MAX_HEAD = 4096
MAX_JSON = 16 * 1024
# How many texts are signed, and their bytes in total.
MAX_TEXTS, MAX_BYTES = 1_200, 500_000
# How far apart two readings of the clock are tried, by the precision of the timestamp.
_MOMENTS = (
    ("seconds", timedelta(seconds=1), 10),
    ("milliseconds", timedelta(milliseconds=1), 100),
    ("microseconds", timedelta(microseconds=1), 100),
)


class Cause(StrEnum):
    """What is wrong; values may be added."""

    HEADER_MISSING = "headerMissing"
    TIMESTAMP_FORMAT = "timestampFormat"
    CLOCK_SKEW = "clockSkew"
    SIGNATURE_FORMAT = "signatureFormat"
    SECRET = "secret"  # noqa: S105 - a cause
    METHOD = "method"
    PATH = "path"
    QUERY = "query"
    TIMESTAMP = "timestamp"
    IDEMPOTENCY_KEY = "idempotencyKey"
    BODY = "body"
    LINE_BREAKS = "lineBreaks"
    LINE_ORDER = "lineOrder"
    REUSED = "reused"
    UNKNOWN = "unknown"


# The keys are parts of mistakes in causes.json.
_BY_PART = {
    "canonicalRequest": Cause.LINE_BREAKS,
    "method": Cause.METHOD,
    "path": Cause.PATH,
    "query": Cause.QUERY,
    "timestamp": Cause.TIMESTAMP,
    "idempotencyKey": Cause.IDEMPOTENCY_KEY,
    "bodySha256": Cause.BODY,
}
_NOT_FOUND = (
    "The signature fits none of the likely mistakes under this key's secret: it was made with another secret, such as a"
    " live one (a test secret begins with psi_test_secret_), or for another text. Compare canonicalRequest, byte for"
    " byte, with the text that your program signed."
)
_AS_ISSUED = "Use the secret that was issued with this API key, as issued."


def explain(
    *,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes,
    known: str,
    secret: str,
    now: datetime,
    clock_skew_seconds: int,
) -> tuple[str, str]:
    """Return the cause of a refusal, and what to do in words; "" where the response says all of it already.

    target: path and query. headers: X-Api-Key, those that are signed, and Host. known: the Cause, where it is known
    without the signature; otherwise "". secret: of the request's API key.
    """
    timestamp, signature = (headers.get(name, "") for name in ("X-Request-Timestamp", "X-Request-Signature"))
    if len(target) + sum(map(len, headers.values())) > MAX_HEAD:
        return (known, "") if known else (Cause.UNKNOWN, _NOT_FOUND)
    if known == Cause.TIMESTAMP_FORMAT:
        return known, _sentences(first_finding(checks.timestamp_verdicts(timestamp)))
    if known == Cause.CLOCK_SKEW:
        verdicts = checks.clock_verdicts(timestamp, now, clock_skew_seconds, is_sent_now=True)
        return known, _sentences(first_finding(verdicts))
    if known:
        return known, ""
    if malformed := first_finding(checks.signature_verdicts(signature)):
        return Cause.SIGNATURE_FORMAT, _sentences(malformed)
    origin = f"https://{headers['Host']}" if "Host" in headers else ""
    return _find(PastedRequest(method, origin, target, list(headers.items()), body), secret)


def _sentences(found: Finding | None) -> str:
    if found is None:
        return ""
    part, _, texts = CAUSES[found["cause"]]
    # The rule of the part is said where nothing else says what to do.
    is_said = found["explanation"] == part.rule and "remedy" in texts
    return " ".join((f"{found['title']}.", *([] if is_said else [found["explanation"]]), found["remedy"]))


def _find(request: PastedRequest, secret: str) -> tuple[Cause, str]:
    """Find the text that the signature was made for, and the key that made it."""
    signature, left = bytes.fromhex(request.signature), MAX_BYTES
    for number, (how, sign, candidate) in enumerate(_attempts(request, secret)):
        text = candidate.canonical_request.encode()
        left -= len(text)
        if number == MAX_TEXTS or left < 0:
            break
        if not hmac.compare_digest(sign(text), signature):
            continue
        mistake = "" if candidate.cause == CORRECT else _sentences(_finding_of(candidate))
        if how:
            return Cause.SECRET, " ".join(filter(None, (f"The signature was made with {how}.", _AS_ISSUED, mistake)))
        return _cause_of(candidate), mistake
    if request.method in WRITES and not request.body:
        return Cause.BODY, _sentences(finding("body-missing"))
    return Cause.UNKNOWN, _NOT_FOUND


def _finding_of(candidate: Candidate) -> Finding:
    found = finding(candidate.cause)
    return found if candidate.line is None else {**found, "title": candidate.title}


def _cause_of(candidate: Candidate) -> Cause:
    part = CAUSES[candidate.cause][0] if candidate.line is None else LINES[candidate.line]
    return Cause.LINE_ORDER if candidate.cause == "wrong-line-order" else _BY_PART[part.name]


def _attempts(request: PastedRequest, secret: str) -> Iterator[tuple[str, verification.Signer, Candidate]]:
    """Yield ways to sign and texts, the likeliest first. The description of the right way is ""."""
    (_, right_way), *others = verification.signers(secret).items()
    api_key = request.api_key.encode()
    wrong_ways: list[tuple[str, verification.Signer]] = [
        ("an empty secret", lambda text: hmac.digest(b"", text, "sha256")),
        ("the API key in place of the secret", lambda text: hmac.digest(api_key, text, "sha256")),
        ("no secret: it is a plain SHA-256", lambda text: hashlib.sha256(text).digest()),
        *others,
    ]
    right, *texts = likely_texts(request, _mistakes(request))
    layouts = [text for text in texts if CAUSES[text.cause][0].name == "canonicalRequest"]
    yield from ((how, sign, right) for how, sign in wrong_ways)
    yield from (("", right_way, text) for text in texts)
    yield from ((how, sign, text) for how, sign in wrong_ways for text in layouts)
    yield from (("", right_way, text) for text in _of_other_moments(request))


def _mistakes(request: PastedRequest) -> list[WrongLine]:
    lengths = {PATH: len(request.path), QUERY: len(request.query), BODY: len(request.body)}
    long = {line for line, length in lengths.items() if length > MAX_LENGTHS[line]}
    if request.body.count(b"[") + request.body.count(b"{") > MAX_BRACKETS:
        long.add(BODY)
    return [*wrong_lines(request, set(range(BODY + 1)) - long), *_few_mistakes(request, long)]


def _few_mistakes(request: PastedRequest, lines: set[int]) -> Iterator[WrongLine]:
    """Yield the mistakes of long lines that cost little."""
    path, query, body = request.canonical_lines[PATH], request.query, request.body
    if PATH in lines:
        yield WrongLine(PATH, "path-decoded", [request.decoded_path.decode(errors="replace")])
        yield WrongLine(PATH, "query-in-path", [f"{path}?{query}"])
    if QUERY in lines:
        yield WrongLine(QUERY, "query-not-signed", [""])
        yield WrongLine(QUERY, "query-as-sent", [query])
    if BODY in lines:
        yield WrongLine(BODY, "body-not-hashed", [signatures.body_digest(b"")])
        yield WrongLine(BODY, "body-digest-upper-case", [request.canonical_lines[BODY].upper()])
        yield WrongLine(BODY, "body-serialised-again", [signatures.body_digest(one) for one in _serialised(body)])
        yield WrongLine(BODY, "body-end-differs", [signatures.body_digest(one) for one in (body + b"\n", body.strip())])


def _serialised(body: bytes) -> list[bytes]:
    """Return a body's JSON as the common libraries write it; nothing if it is not JSON, or too large."""
    if len(body) > MAX_JSON:
        return []
    try:
        value = json.loads(body)
        texts = (
            json.dumps(value, ensure_ascii=ensure_ascii, separators=separators)
            for ensure_ascii in (False, True)
            for separators in ((",", ":"), (", ", ": "))
        )
        return [text.encode(errors="replace") for text in texts]
    except (ValueError, RecursionError):
        return []


def _of_other_moments(request: PastedRequest) -> Iterator[Candidate]:
    """Yield the texts with a timestamp of the same form that is near, as if the clock had been read twice."""
    cause, lines = "timestamp-of-another-moment", list(request.canonical_lines)
    for lines[TIMESTAMP] in _other_moments(request.timestamp):
        yield Candidate(cause, finding(cause)["title"], "\n".join(lines))


def _other_moments(timestamp: str) -> Iterator[str]:
    signed_at = instant(timestamp)
    for timespec, unit, steps in _MOMENTS:
        for zone in ("Z", "+00:00"):
            if signed_at is not None and _utc(signed_at, timespec, zone) == timestamp:
                for step in range(1, steps + 1):
                    yield from (_utc(signed_at + unit * number, timespec, zone) for number in (step, -step))
                return


def _utc(moment: datetime, timespec: str, zone: str) -> str:
    return moment.astimezone(UTC).isoformat(timespec=timespec).removesuffix("+00:00") + zone
