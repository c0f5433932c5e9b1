"""The client for Python sends by a transport of the program's own, under the rules of its own connections."""

import asyncio
import io
import socket
import ssl
from collections.abc import Callable, Mapping
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

import psi
from psi.aio import AsyncClient
from tests.examples.calling import Access
from tests.examples.gateway import Gateway
from tests.support.documents import add_document
from users.models import User

CHANGES: Any = {"city": "Ottawa", "postalCode": "K1P 5W1"}
Sent = tuple[int, Mapping[str, str], bytes]


def by_http_client(method: str, url: str, headers: dict[str, str], body: bytes, timeout: float) -> Sent:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=timeout)
    try:
        connection.request(method, f"{parts.path}?{parts.query}", body or None, headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read()  # type: ignore[return-value]
    finally:
        connection.close()


@pytest.fixture
def through(gateway: Gateway, access: Access) -> dict[str, Any]:
    """What a client that reaches the service through the gateway is made with."""
    return {"base_url": gateway.url, "api_key": access.api_key, "secret": access.secret, "attempts": 3}


def test_it_sends_what_the_client_signs(through: dict[str, Any], gateway: Gateway, user: User) -> None:
    document = add_document(user, b"%PDF-1.7\n")
    client = psi.Client(**through, transport=by_http_client)
    gateway.faults, gateway.retry_after = [503, "lost"], 0
    changed = client.update_user(user.external_id, CHANGES)
    assert (changed["externalId"], len(gateway.seen)) == (user.external_id, 3)
    assert len({headers["idempotency-key"] for headers in gateway.seen}) == 1
    assert psi.response_of(changed).headers["content-type"] == "application/json"
    [listed] = client.documents(user.external_id)
    file = io.BytesIO()
    client.download_document(user.external_id, str(document.document_id), file, sha256=listed["sha256"])
    assert file.getvalue() == b"%PDF-1.7\n"
    client.close()


def test_a_client_of_httpx_is_a_transport(through: dict[str, Any], user: User) -> None:
    with httpx.Client() as http:

        def by_httpx(method: str, url: str, headers: dict[str, str], body: bytes, timeout: float) -> Sent:
            response = http.request(method, url, headers=headers, content=body, timeout=timeout)
            return response.status_code, response.headers, response.content

        client = psi.Client(**through, transport=by_httpx)
        assert [one["externalId"] for one in client.users()] == [user.external_id]


@pytest.mark.parametrize(
    ("raised", "expected", "text", "attempts"),
    [
        (ValueError("odd"), psi.NoResponseError, "no response: odd", 3),
        (httpx.ReadError(""), psi.NoResponseError, "no response: RuntimeError", 3),
        (psi.NoResponseError("cut"), psi.NoResponseError, "cut", 3),
        (psi.ConfigurationError("no such proxy"), psi.ConfigurationError, "no such proxy", 1),
        (socket.gaierror(socket.EAI_NONAME, ""), psi.ConfigurationError, "The host partners.example is unknown.", 1),
        (ssl.SSLCertVerificationError(), psi.ConfigurationError, "The certificate of partners.example is not", 1),
        (httpx.ProxyError("407 Proxy Authentication Required"), psi.ConfigurationError, "The proxy wants", 1),
        (OSError("Tunnel connection failed: 407 No"), psi.ConfigurationError, "The proxy wants credentials", 1),
        (OSError("Tunnel connection failed: 403 No"), psi.NoResponseError, "no response: Tunnel", 3),
    ],
    ids=repr,
)
def test_what_it_raises_is_told(
    raised: Exception,
    expected: type[psi.PsiError],
    text: str,
    attempts: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[float] = []

    def failing(method: str, url: str, headers: dict[str, str], body: bytes, timeout: float) -> Sent:
        calls.append(timeout)
        if isinstance(raised, psi.PsiError):
            raise raised
        # As libraries do.
        raise RuntimeError(str(raised)) from raised

    monkeypatch.setattr("time.sleep", lambda seconds: None)
    client = psi.Client("https://partners.example", "key", "secret", timeout=7, attempts=3, transport=failing)
    with pytest.raises(expected) as refused:
        client.create_user({})  # type: ignore[typeddict-item]
    assert str(refused.value).startswith(text)
    assert calls == [7] * attempts


def test_what_a_program_handles_meanwhile_is_no_cause() -> None:
    def failing(method: str, url: str, headers: dict[str, str], body: bytes, timeout: float) -> Sent:
        raise OSError("cut")

    with socket.create_server(("127.0.0.1", 0)) as closed:
        settings = (f"http://127.0.0.1:{closed.getsockname()[1]}", "key", "secret")

    async def asynchronously() -> None:
        async with AsyncClient(*settings, attempts=1) as client:
            await client.ping()

    clients = (psi.Client(*settings, attempts=1), psi.Client(*settings, attempts=1, transport=failing))
    pings: list[Callable[[], object]] = [*(client.ping for client in clients), lambda: asyncio.run(asynchronously())]
    for ping in pings:
        try:
            raise socket.gaierror(socket.EAI_NONAME, "another host")
        except OSError:
            with pytest.raises(psi.NoResponseError):
                ping()


def test_it_comes_without_a_proxy_and_trust_of_the_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ("https://partners.example", "key", "secret")
    for more in ({"proxy": "http://proxy.example"}, {"ssl_context": ssl.create_default_context()}):
        with pytest.raises(psi.ConfigurationError, match="a transport has its own"):
            psi.Client(*settings, transport=by_http_client, **more)
        with pytest.raises(psi.ConfigurationError, match="a transport has its own"):
            AsyncClient(*settings, transport=httpx.MockTransport(lambda request: httpx.Response(200)), **more)
    # The environment's proxy is not read, so it may be what only the transport understands.
    monkeypatch.setattr(psi, "getproxies", lambda: {"https": "socks5://proxy.example"})
    psi.Client(*settings, transport=by_http_client)
