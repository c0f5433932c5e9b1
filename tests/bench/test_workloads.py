"""The benchmark's requests are validly signed, and no write is in a file twice."""

import io
import json
from itertools import repeat
from urllib.parse import unquote_to_bytes

import pytest

from bench import workloads
from bench.workloads import MIX, WORKLOADS, Dataset, Request
from partners.authentication import signatures

KEY = ("psi_key_bench", "psi_secret_bench")
DATASET = Dataset(
    ["load-00000001", "load-00000040"],
    [("load-00000001", "2026-01-15T10:30:00.0000000000000000000000001Z")],
    ["2026-01-15T10:30:00.000000194737710869063390582553956751487435508Z"],
)


def read(file: io.BytesIO) -> list[bytes]:
    """The requests of a file, as play.lua reads them."""
    file.seek(0)
    return [file.read(int(length)) for length in iter(file.readline, b"")]


def written(name: str, count: int) -> list[bytes]:
    file = io.BytesIO()
    workloads.write((make(DATASET) for make in repeat(WORKLOADS[name].make, count)), KEY, file)
    return read(file)


def split(raw: bytes) -> tuple[str, str, dict[str, str], bytes]:
    """Method, target, headers and body."""
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    method, target, version = first.split(" ")
    assert version == "HTTP/1.1"
    return method, target, dict(line.split(": ", 1) for line in lines), body


@pytest.mark.parametrize("name", WORKLOADS)
def test_each_request_is_signed_as_it_is_written(name: str) -> None:
    for raw in written(name, 20):
        method, target, headers, body = split(raw)
        path, _, query = target.partition("?")
        canonical = signatures.canonical_request(
            method,
            unquote_to_bytes(path),
            query.encode(),
            headers["X-Request-Timestamp"],
            headers.get("Idempotency-Key", ""),
            body,
        )
        assert signatures.verify(KEY[1], canonical, headers["X-Request-Signature"])
        assert int(headers.get("Content-Length", 0)) == len(body)


@pytest.mark.parametrize("name", ["create", "update"])
def test_no_write_is_repeated(name: str) -> None:
    requests = [split(raw) for raw in written(name, 200)]

    assert len({headers["Idempotency-Key"] for _, _, headers, _ in requests}) == 200
    assert len({body for _, _, _, body in requests}) == 200
    assert not WORKLOADS[name].repeatable


def test_an_update_changes_three_fields() -> None:
    (raw,) = written("update", 1)

    assert set(json.loads(split(raw)[3])) == {"email", "addressLine1", "occupation"}


def test_the_mix_has_the_declared_shares() -> None:
    methods = [split(raw)[0] for raw in written("mix", 2000)]

    assert sum(MIX.values()) == 100
    assert methods.count("GET") == pytest.approx(20 * MIX["list"], abs=120)
    assert methods.count("PATCH") == pytest.approx(20 * MIX["update"], abs=120)
    assert methods.count("POST") == pytest.approx(20 * MIX["create"], abs=80)


def test_a_body_may_hold_line_feeds() -> None:
    file = io.BytesIO()
    requests = [Request("POST", "/v1/users", b'{\n\r\n\r\n"a": 1}', "key"), Request("GET", "/v1/ping")]
    workloads.write(requests, KEY, file)

    first, second = read(file)

    assert first.endswith(b'\r\n\r\n{\n\r\n\r\n"a": 1}')
    assert second.startswith(b"GET /v1/ping HTTP/1.1\r\n")
