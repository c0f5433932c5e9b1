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
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import trustme
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from events.webhooks import sending
from events.webhooks.deliveries import Lease
from events.webhooks.results import AttemptResult
from events.webhooks.sending import Sender
from tests.support.receiver import Authority, Receiver, Reply
from tests.support.timeouts import WAIT_SECONDS

SECRET, OTHER_SECRET = "whsec_" + "A" * 43 + "=", "whsec_" + "B" * 43 + "="
PUBLIC = "93.184.216.34"


def lease(url: str, *secrets: str) -> Lease:
    event_id = uuid4()
    body = f'{{"eventId":"{event_id}","type":"user.statusChanged","data":{{"externalId":"é-1"}}}}'
    return Lease(
        1,
        uuid4(),
        url,
        event_id,
        is_test=False,
        body=body,
        attempts=[],
        attempt_count=0,
        leased_until=datetime.now(UTC),
        secrets=secrets,
    )


def attempt(url: str, *secrets: str, times: int = 1) -> AttemptResult:
    """Make an attempt, in a loop of its own; return the last result."""

    async def run() -> AttemptResult:
        sender = Sender()
        return [await sender.attempt(lease(url, *(secrets or (SECRET,)))) for _ in range(times)][-1]

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


@pytest.mark.parametrize("path", ["/", "/a//b", "/hooks?", "/?a=%2F//b"])
def test_the_path_is_sent_as_it_was_written(public: Receiver, path: str) -> None:
    attempt(f"https://hooks.example.com:{public.port}{path}")
    assert [request.path for request in public.requests] == [path]


def test_each_secret_in_force_signs(public: Receiver) -> None:
    attempt(public.url, SECRET, OTHER_SECRET)
    (request,) = public.requests
    assert len(request.headers["webhook-signature"].split()) == 2
    for secret in (SECRET, OTHER_SECRET):
        Webhook(secret).verify(request.body, request.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook("whsec_" + "C" * 43 + "=").verify(request.body, request.headers)


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
    original = asyncio.StreamReader.read

    async def measured(reader: Any, count: int = -1) -> bytes:
        chunk = await original(reader, count)
        read.append(len(chunk))
        return chunk

    monkeypatch.setattr(asyncio.StreamReader, "read", measured)
    public.reply = lambda _: Reply(200, {"Content-Length": str(1 << 40)}, bytes(8 << 20))
    assert attempt(public.url).status == 200
    assert sum(read) == sending.MAX_BODY_BYTES


BODIES = {
    "broken off": b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12",
    "a body of a 204": b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a length beside chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\nno chunk\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n1",
    "no number": b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
    "other codings": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "many headers": b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: 1\r\n" % one for one in range(3000)) + b"\r\n",
    "odd headers": b"HTTP/1.1 200 OK\r\nno colon\r\n: no name\r\nX: \xff\x00\r\n folded\r\n\r\n",
    "line feeds": b"HTTP/1.0 200\nX: 1\n\n",
    "interim responses": b"HTTP/1.1 102 Processing\r\n\r\n" * 16 + b"HTTP/1.1 200 OK\r\n\r\n",
}


@pytest.mark.parametrize("sent", BODIES.values(), ids=BODIES)
def test_a_success_is_one_by_its_head_whatever_the_body_does(public: Receiver, sent: bytes) -> None:
    public.reply = lambda _: Reply(raw=sent)
    assert attempt(public.url).is_success


MALFORMED = {
    "nothing": b"",
    "another protocol": b"220 mail.example ESMTP\r\n\r\n",
    "no status": b"HTTP/1.1 OK\r\n\r\n",
    "a status of two digits": b"HTTP/1.1 20 OK\r\n\r\n",
    "a head that breaks off": b"HTTP/1.1 200 OK\r\nX: 1\r\n",
    "a status line that breaks off": b"HTTP/1.1 200 OK",
    "a long head": b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 11_000 + b"\r\n",
    "a long line": b"HTTP/1.1 200 OK\r\nX: " + b"1" * 66_000 + b"\r\n\r\n",
    "endless interim responses": b"HTTP/1.1 102 Processing\r\n\r\n" * 3000 + b"HTTP/1.1 200 OK\r\n\r\n",
}


@pytest.mark.parametrize("sent", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_response_is_a_failure(public: Receiver, sent: bytes) -> None:
    public.reply = lambda _: Reply(raw=sent)
    assert attempt(public.url).error == "protocol"


def test_a_body_that_is_held_open_is_a_success_in_time(public: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "TIMEOUT_SECONDS", 0.5)
    end = threading.Event()
    # One byte is sent of two.
    public.reply = lambda _: Reply(200, {"Content-Length": "2"}, b"1", after=lambda: end.wait(WAIT_SECONDS))
    begun = time.monotonic()
    assert attempt(public.url).is_success
    assert time.monotonic() - begun < WAIT_SECONDS / 2
    end.set()


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n12",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n12\r\n0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ],
)
def test_a_connection_that_is_kept_open_does_not_prolong_the_attempt(public: Receiver, sent: bytes) -> None:
    end = threading.Event()
    public.reply = lambda _: Reply(raw=sent, after=lambda: end.wait(WAIT_SECONDS))
    begun = time.monotonic()
    assert attempt(public.url).is_success
    assert time.monotonic() - begun < sending.TIMEOUT_SECONDS / 2
    end.set()


def test_the_next_address_is_called_where_one_is_not_reached(public: Receiver, names: Names) -> None:
    names.responses["hooks.example.com"] = [["127.0.0.2", "127.0.0.1"]]
    assert attempt(public.url).status == 204


@pytest.mark.parametrize("place", ["answer", "head", "name"])
def test_an_attempt_has_one_time_limit(
    public: Receiver, names: Names, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(sending, "TIMEOUT_SECONDS", 0.5)
    end = threading.Event()
    if place == "answer":
        public.reply = lambda _: Reply(wait=lambda: end.wait(WAIT_SECONDS))
    elif place == "head":
        public.reply = lambda _: Reply(raw=b"HTTP/1.1 200 OK\r\nX:", after=lambda: end.wait(WAIT_SECONDS))
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
        sender = Sender()
        hanging = [asyncio.create_task(sender.attempt(lease("https://hanging.example/", SECRET))) for _ in range(100)]
        await asyncio.sleep(0)
        assert (await sender.attempt(lease(public.url, SECRET))).status == 204
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
    assert result(f"https://other.example:{public.port}/") == "tlsName"
    with Authority.create(tmp_path).receiver("hooks.example.com") as stranger:
        assert result(stranger.url) == "tlsIssuer"
        assert stranger.requests == []
    with plain_server(b"SSH-2.0-OpenSSH\r\n") as port:
        assert result(f"https://hooks.example.com:{port}/") == "tlsProtocol"
    assert result("https://10.0.0.1/") == "address"
    assert asyncio.run(without_secrets(public.url)).error == "secret"


def test_a_certificate_s_error_says_which(authority: Authority, names: Names, loopback: None, tmp_path: Path) -> None:
    def result(certificate: trustme.LeafCert) -> str:
        with authority.receiver("hooks.example.com", certificate=certificate) as receiver:
            error = attempt(receiver.url).error
            assert receiver.requests == []
        return error

    names.responses["hooks.example.com"] = [["127.0.0.1"]]
    expired = authority.ca.issue_cert("hooks.example.com", not_after=datetime.now(UTC) - timedelta(days=1))
    assert result(expired) == "tlsExpired"
    assert result(authority.ca.issue_cert("www.example.com")) == "tlsName"
    chained = authority.ca.create_child_ca().issue_cert("hooks.example.com")
    alone = trustme.LeafCert(chained.private_key_pem.bytes(), chained.cert_chain_pems[0].bytes(), [])
    assert result(alone) == "tlsIssuer"
    own = trustme.CA()
    assert result(trustme.LeafCert(own.private_key_pem.bytes(), own.cert_pem.bytes(), [])) == "tlsSelfSigned"
    early = authority.ca.issue_cert("hooks.example.com", not_before=datetime.now(UTC) + timedelta(days=1))
    assert result(early) == "tls"


async def without_secrets(url: str) -> AttemptResult:
    return await Sender().attempt(lease(url))


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
