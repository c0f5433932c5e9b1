"""One attempt: what is sent, where it may go, and what its result is. Contract, section 10."""

import asyncio
import errno
import gc
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Any
from uuid import uuid4

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from partners.webhooks import sending
from partners.webhooks.aiohttp_internals import MAX_INTERIM_RESPONSES
from partners.webhooks.attempt_headers import attempt_headers
from partners.webhooks.leases import Lease
from partners.webhooks.results import Outcome
from partners.webhooks.sending import Sender
from tests.support.receiver import Authority, Receiver, Reply
from tests.support.timeouts import WAIT_SECONDS

SECRET, OTHER_SECRET = "whsec_" + "A" * 43 + "=", "whsec_" + "B" * 43 + "="
PUBLIC = "93.184.216.34"


def lease(url: str) -> Lease:
    now = datetime.now(UTC)
    return Lease(1, uuid4(), url, uuid4(), "user.statusChanged", now, {"externalId": "é-1"}, [], 0, now)


def attempt(url: str, *secrets: str, times: int = 1) -> Outcome:
    """Make an attempt, in a loop of its own; return the last result."""

    async def run() -> Outcome:
        async with Sender() as sender:
            return [await sender.attempt(lease(url), secrets or (SECRET,)) for _ in range(times)][-1]

    return asyncio.run(run())


class Names:
    """Look-ups of this process: hosts get these addresses, one list for each look-up; the last is repeated."""

    def __init__(self) -> None:
        self.responses: dict[str, list[list[str]]] = {}
        self.asked: list[str] = []

    def __call__(self, host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        self.asked.append(host)
        responses = self.responses.get(host)
        if not responses:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        found = responses.pop(0) if len(responses) > 1 else responses[0]
        family = {True: socket.AF_INET6, False: socket.AF_INET}
        return [(family[":" in one], socket.SOCK_STREAM, 6, "", (one, port)) for one in found]


@pytest.fixture(scope="module", autouse=True)
def only_new_objects_are_collected() -> Iterator[None]:
    """Leave out what there was before: each collection would take as long as all loaded modules need."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def nothing_is_open() -> Iterator[None]:
    """Collect the connections of loops that ended before the other side had closed them."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    names = Names()
    monkeypatch.setattr(socket, "getaddrinfo", names)
    return names


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The addresses that sockets of this process connect to; none but this machine's is reached."""
    made: list[tuple[Any, ...]] = []
    connect = asyncio.SelectorEventLoop.sock_connect

    async def noted(loop: Any, sock: Any, address: Any) -> None:
        made.append(address)
        if not ip_address(address[0]).is_loopback:
            raise OSError(errno.ENETUNREACH, "unreachable")
        await connect(loop, sock, address)

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", noted)
    return made


@pytest.fixture
def public(authority: Authority, names: Names, loopback: None) -> Iterator[Receiver]:
    """A receiver under a public name, whose address is of this machine."""
    with authority.receiver("hooks.example.com") as receiver:
        names.responses["hooks.example.com"] = [["127.0.0.1"]]
        yield receiver


# What is sent


def test_the_request_is_of_standard_webhooks(public: Receiver) -> None:
    outcome = attempt(public.url)
    assert outcome.status == 204
    assert abs(outcome.at - datetime.now(UTC)) < timedelta(minutes=10)
    (request,) = public.requests
    assert request.path == "/hooks?tenant=secret-path"
    assert int(request.headers["webhook-timestamp"]) == int(outcome.at.timestamp())
    assert Webhook(SECRET).verify(request.body, request.headers)["data"] == {"externalId": "é-1"}
    assert request.json()["eventId"] == request.headers["webhook-id"]
    del request.headers["webhook-timestamp"], request.headers["webhook-id"], request.headers["webhook-signature"]
    assert request.headers == {
        "host": f"hooks.example.com:{public.port}",
        "accept": "*/*",
        "connection": "close",
        "content-type": "application/json",
        "user-agent": "partner-service-webhooks/1",
        "content-length": str(len(request.body)),
    }


def test_each_secret_in_force_signs(public: Receiver) -> None:
    attempt(public.url, SECRET, OTHER_SECRET)
    (request,) = public.requests
    assert len(request.headers["webhook-signature"].split()) == 2
    for secret in (SECRET, OTHER_SECRET):
        Webhook(secret).verify(request.body, request.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook("whsec_" + "C" * 43 + "=").verify(request.body, request.headers)


def test_an_altered_byte_and_an_old_time_are_refused(public: Receiver) -> None:
    attempt(public.url)
    (request,) = public.requests
    altered = request.body.replace(b"externalId", b"externalID")
    with pytest.raises(WebhookVerificationError, match="signature"):
        Webhook(SECRET).verify(altered, request.headers)
    for header in ("webhook-id", "webhook-timestamp"):
        with pytest.raises(WebhookVerificationError, match="signature"):
            Webhook(SECRET).verify(request.body, request.headers | {header: str(int(time.time()) + 1)})
    old = attempt_headers(event_id=uuid4(), at=datetime.now(UTC) - timedelta(minutes=6), body="{}", secrets=[SECRET])
    with pytest.raises(WebhookVerificationError, match="too old"):
        Webhook(SECRET).verify("{}", old)


# Results


@pytest.mark.parametrize("status", [200, 204, 299, 301, 400, 410, 500, 503])
def test_the_status_is_the_result(public: Receiver, status: int) -> None:
    public.reply = lambda _: Reply(status)
    outcome = attempt(public.url)
    assert (outcome.status, outcome.error, outcome.is_success) == (status, "", status < 300)


@pytest.mark.parametrize(("status", "seconds"), [(429, 120), (503, 120), (500, None), (204, None)])
def test_retry_after_is_that_of_429_and_503(public: Receiver, status: int, seconds: int | None) -> None:
    public.reply = lambda _: Reply(status, {"Retry-After": "120"})
    assert attempt(public.url).retry_after == (seconds and timedelta(seconds=seconds))


def test_no_cookie_is_kept(public: Receiver) -> None:
    public.reply = lambda _: Reply(200, {"Set-Cookie": "a=b; Path=/"})
    attempt(public.url, times=2)
    assert len(public.requests) == 2
    assert not any("cookie" in request.headers for request in public.requests)


def test_a_small_part_of_an_endless_answer_is_read(public: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    original = sending._read

    async def measured(response: Any) -> None:
        await original(response)
        read.append(response.content.total_bytes)

    monkeypatch.setattr(sending, "_read", measured)
    public.reply = lambda _: Reply(200, {"Content-Length": str(1 << 40)}, bytes(8 << 20))
    assert attempt(public.url).status == 200
    # What the receiver sent before it noticed is in a buffer.
    assert sending.MAX_RESPONSE_BYTES <= read[0] < 1 << 20


def test_an_answer_that_breaks_off_has_its_status(public: Receiver) -> None:
    public.reply = lambda _: Reply(200, {"Content-Length": "10"})
    assert attempt(public.url).is_success


def test_interim_responses_are_skipped_and_bounded(public: Receiver) -> None:
    public.reply = lambda _: Reply(interim=MAX_INTERIM_RESPONSES)
    assert attempt(public.url).status == 204
    public.reply = lambda _: Reply(interim=MAX_INTERIM_RESPONSES + 1)
    assert attempt(public.url).error == "protocol"


@pytest.mark.parametrize("place", ["answer", "body", "name"])
def test_an_attempt_has_one_time_limit(
    public: Receiver, names: Names, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(sending, "TIMEOUT_SECONDS", 0.5)
    end = threading.Event()
    if place == "answer":
        public.reply = lambda _: Reply(wait=lambda: end.wait(WAIT_SECONDS))
    elif place == "body":
        # Of two bytes, one.
        public.reply = lambda _: Reply(200, {"Content-Length": "2"}, b"1", after=lambda: end.wait(WAIT_SECONDS))
    else:
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: end.wait(WAIT_SECONDS))
    begun = time.monotonic()
    assert attempt(public.url).error == "timeout"
    assert time.monotonic() - begun < WAIT_SECONDS / 2
    end.set()


def test_a_hanging_look_up_delays_no_other(public: Receiver, names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    end = threading.Event()

    def look_up(host: str, *args: Any, **kwargs: Any) -> Any:
        return end.wait(WAIT_SECONDS) if host == "hanging.example" else names(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    async def run() -> None:
        async with Sender() as sender:
            hanging = [
                asyncio.create_task(sender.attempt(lease("https://hanging.example/"), [SECRET])) for _ in range(100)
            ]
            await asyncio.sleep(0)
            assert (await sender.attempt(lease(public.url), [SECRET])).status == 204
            for task in hanging:
                task.cancel()
            await asyncio.gather(*hanging, return_exceptions=True)

    asyncio.run(run())
    end.set()


def test_errors_have_codes(public: Receiver, authority: Authority, names: Names, tmp_path: Any, settings: Any) -> None:
    def result(url: str, *secrets: str) -> str:
        return attempt(url, *secrets).error

    assert result("https://unknown.example/") == "dns"
    names.responses["closed.example"] = [["127.0.0.1"]]
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        assert result(f"https://closed.example:{closed.getsockname()[1]}/") == "connect"
    names.responses["other.example"] = [["127.0.0.1"]]
    assert result(f"https://other.example:{public.port}/") == "tls"
    with Authority.create(tmp_path).receiver("hooks.example.com") as stranger:
        assert result(stranger.url) == "tls"
        assert stranger.requests == []
    with plain_server(b"SSH-2.0-OpenSSH\r\n") as port:
        assert result(f"https://hooks.example.com:{port}/") == "tls"
    public.reply = lambda _: Reply(200, {"Transfer-Encoding": "chunked", "Content-Length": "1"}, b"no chunk\r\n")
    assert result(public.url) == "protocol"
    assert result("https://10.0.0.1/") == "address"
    assert asyncio.run(without_secrets(public.url)).error == "secret"


async def without_secrets(url: str) -> Outcome:
    async with Sender() as sender:
        return await sender.attempt(lease(url), [])


@contextmanager
def plain_server(greeting: bytes) -> Iterator[int]:
    """A server that does not speak TLS; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1)
                connection.sendall(greeting)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


# Where it goes


def test_all_addresses_are_checked(names: Names, connections: list[Any]) -> None:
    for found in (["10.0.0.1"], [PUBLIC, "169.254.169.254"], [PUBLIC, "::ffff:127.0.0.1"], ["64:ff9b::7f00:1"]):
        names.responses["hooks.example.com"] = [found]
        assert attempt("https://hooks.example.com/").error == "address"
    assert connections == []


def test_a_name_is_looked_up_once_and_these_addresses_are_called(names: Names, connections: list[Any]) -> None:
    """A name whose second look-up would give an address of this machine."""
    names.responses["hooks.example.com"] = [[PUBLIC], ["127.0.0.1"]]
    assert attempt("https://hooks.example.com:8443/").error == "connect"
    assert names.asked == ["hooks.example.com"]
    assert connections == [(PUBLIC, 8443)]
    assert attempt("https://hooks.example.com:8443/").error == "address"
    assert connections == [(PUBLIC, 8443)]


def test_the_rules_hold_at_each_attempt(public: Receiver, settings: Any) -> None:
    assert attempt(public.url).status == 204
    settings.WEBHOOK_ALLOW_LOOPBACK = False
    assert attempt(public.url).error == "address"
    assert attempt(f"https://localhost:{public.port}/").error == "address"
    assert len(public.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(public: Receiver, authority: Authority, status: int) -> None:
    with authority.receiver("localhost") as canary:
        public.reply = lambda _: Reply(status, {"Location": canary.url})
        assert attempt(public.url).status == status
        assert canary.requests == []


def test_no_proxy_of_the_environment_is_used(
    public: Receiver, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    with authority.receiver("localhost") as proxy:
        for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://localhost:{proxy.port}")
        assert attempt(public.url).status == 204
        assert proxy.requests == []


def test_an_international_name_is_called_by_its_a_labels(authority: Authority, names: Names, loopback: None) -> None:
    with authority.receiver("xn--bcher-kva.example") as receiver:
        names.responses["xn--bcher-kva.example"] = [["127.0.0.1"]]
        assert attempt(f"https://bücher.example:{receiver.port}/").status == 204
    assert receiver.requests[0].headers["host"] == f"xn--bcher-kva.example:{receiver.port}"


def test_the_log_has_no_path_body_or_secret(public: Receiver, capsys: Any, caplog: Any) -> None:
    attempt(public.url)
    attempt("https://unknown.example/secret-path")
    text = "".join(capsys.readouterr()) + caplog.text
    assert text.count("webhook attempt") >= 2
    for secret in ("secret-path", "externalId", SECRET, "example.com"):
        assert secret not in text
