"""Each example agrees with the published vectors, and with the service on requests that nobody thought of."""

import random

import pytest

from tests.examples.languages import LANGUAGES, Language, Signed, Workshop, sign_all
from tests.examples.published import SECRET, VECTORS, by_the_service, signed

NOT_UTF_8 = ["%FF", "%C3(", "a%E9", "%ED%A0%80", "%C0%AF", "%F4%90%80%80", "%F0%9F%A6"]

pytestmark = pytest.mark.parametrize("language", LANGUAGES, ids=str)


def unthought_of(count: int) -> list[Signed]:
    """Requests of odd pieces, the same in every run, and two with every ASCII character, escaped and not."""
    chance = random.Random(1)
    escaped = [f"%{byte:02x}" for byte in range(128)]
    literal = [chr(byte) for byte in range(33, 127) if chr(byte) not in "%#?"]
    odd = [
        *("%", "%4", "%zz", "%25", "+", "&", "=", "&&", "=&", "%2F", "é", "日", "🦫", "%F0%9F%A6%AB", "\\", "'", "*"),
        "?",
    ]

    def text() -> str:
        return "".join(chance.choice(chance.choice([escaped, literal, odd])) for _ in range(chance.randrange(12)))

    everything = [f"/v1/{''.join(pieces)}?{'&'.join(pieces)}" for pieces in (escaped, literal)]
    random_ones = [f"/v1/{text()}?{text()}&{text()}={text()}" for _ in range(count)]
    return [Signed("GET", target, body=text()) for target in (*everything, *random_ones, "/v1/ping?", "/v1/ping?=")]


def test_an_example_agrees_with_every_vector(place: Workshop, language: Language) -> None:
    results = sign_all(place, language, SECRET, [signed(vector) for vector in VECTORS])
    assert {vector["id"]: found for vector, found in zip(VECTORS, results, strict=True)} == {
        vector["id"]: (vector["canonicalRequest"], vector["signature"]) for vector in VECTORS
    }


def test_an_example_agrees_with_the_service_on_random_requests(place: Workshop, language: Language) -> None:
    requests = unthought_of(24)
    # Longer than a block of SHA-256: the HMAC's key is then its digest.
    secret = SECRET * 3
    assert list(sign_all(place, language, secret, requests)) == [by_the_service(one, secret) for one in requests]


def test_an_example_refuses_what_is_not_utf_8(place: Workshop, language: Language) -> None:
    places = ["/v1/users/{}", "/v1/ping?a={}", "/v1/ping?{}=1", "/v1/ping?a=1&b={}"]
    targets = [places[0].format(piece) for piece in NOT_UTF_8] + [target.format("%FF") for target in places[1:]]
    requests = [Signed("GET", target) for target in targets]
    assert set(sign_all(place, language, SECRET, requests)) == {("refused", "")}
