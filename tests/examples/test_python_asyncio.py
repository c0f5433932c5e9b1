"""What psi.aio has beyond the client that it follows; test_client_packages.py calls both alike."""

import asyncio
import inspect
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

import psi
from psi import aio
from tests.examples.calling import Access
from tests.examples.gateway import Gateway
from tests.examples.languages import ENVIRONMENT, ROOT
from tests.support.timeouts import WAIT_SECONDS

SETTINGS = ("https://partners.example", "key", "secret")


def methods(of: type) -> dict[str, Callable[..., Any]]:
    return {name: one for name, one in vars(of).items() if inspect.isfunction(one) and not name.startswith("_")}


@pytest.mark.parametrize(
    ("waiting", "asynchronous"),
    [(psi.Client, aio.AsyncClient), (psi.Sandbox, aio.AsyncSandbox)],
    ids=lambda one: one.__name__,
)
def test_it_has_the_methods_of_the_client(waiting: type, asynchronous: type) -> None:
    theirs, ours = methods(waiting), methods(asynchronous)
    assert ours.keys() == theirs.keys()
    for name, one in theirs.items():
        signature, other = inspect.signature(one), inspect.signature(ours[name])
        assert other.parameters == signature.parameters, name
        assert ours[name].__doc__ == one.__doc__, name
        returned = signature.return_annotation
        is_iterated = re.match("Iterator|Events", returned) is not None
        assert other.return_annotation == (f"Async{returned}" if is_iterated else returned), name
        assert inspect.iscoroutinefunction(ours[name]) is not is_iterated, name
    settings, others = (dict(inspect.signature(one).parameters) for one in (psi.Client, aio.AsyncClient))
    assert settings.pop("transport") != others.pop("transport")
    assert others == settings


def run(program: Any) -> Any:
    return asyncio.run(asyncio.wait_for(program, WAIT_SECONDS))


def test_a_task_that_is_cancelled_ends_its_request_and_its_pauses(
    access: Access, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway.faults, gateway.retry_after = [503], 30

    async def cancelled(task: asyncio.Task[Any], begun: asyncio.Event) -> None:
        await begun.wait()
        begun.clear()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def program() -> None:
        pausing, reached = asyncio.Event(), asyncio.Event()

        async def pause(_seconds: float) -> None:
            pausing.set()
            await asyncio.Event().wait()

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            reached.set()
            await reader.read()
            writer.close()

        async def expire(limit: asyncio.Timeout) -> None:
            await pausing.wait()
            limit.reschedule(0)

        async def limited(client: aio.AsyncClient) -> None:
            async with asyncio.timeout(None) as limit, asyncio.TaskGroup() as tasks:
                tasks.create_task(expire(limit))
                await anext(client.events(poll_seconds=60))

        monkeypatch.setattr("asyncio.sleep", pause)
        async with aio.AsyncClient(gateway.url, access.api_key, access.secret) as client:
            # Before the next attempt.
            await cancelled(asyncio.create_task(client.ping()), pausing)
            # Between two looks for events.
            await cancelled(asyncio.create_task(anext(client.events(poll_seconds=60))), pausing)
            # And by the program's own limit of time.
            with pytest.raises(TimeoutError):
                await limited(client)
            assert (await client.ping())["mode"] == "live"
        # While there is no response.
        async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            async with aio.AsyncClient(url, access.api_key, access.secret) as client:
                await cancelled(asyncio.create_task(client.ping()), reached)

    run(program())
    assert len(gateway.seen) == 4


def test_many_tasks_share_the_connections(access: Access, gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aio, "_MAX_REQUESTS", 4)

    async def program() -> list[Any]:
        async with aio.AsyncClient(gateway.url, access.api_key, access.secret, timeout=10) as client:
            return await asyncio.gather(*(client.ping() for _ in range(20)))

    assert [one["mode"] for one in run(program())] == ["live"] * 20


def test_waiting_for_ones_turn_is_not_in_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aio, "_MAX_REQUESTS", 1)
    timeout, under_way, most = asyncio.timeout, set[object](), list[int]()

    @asynccontextmanager
    async def counted(seconds: float | None) -> AsyncIterator[None]:
        one = object()
        under_way.add(one)
        most.append(len(under_way))
        try:
            async with timeout(seconds):
                yield
        finally:
            under_way.remove(one)

    async def respond(request: httpx.Request) -> httpx.Response:
        # The others come to their turn meanwhile.
        await asyncio.sleep(0)
        return httpx.Response(200, json={"mode": "live"})

    async def hang(request: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async def program() -> None:
        async with aio.AsyncClient(*SETTINGS, attempts=1, transport=httpx.MockTransport(respond)) as client:
            monkeypatch.setattr("asyncio.timeout", counted)
            await asyncio.gather(*(client.ping() for _ in range(4)))
            assert most == [1, 1, 1, 1]
            monkeypatch.setattr("asyncio.timeout", timeout)
        async with aio.AsyncClient(*SETTINGS, timeout=0.1, attempts=1, transport=httpx.MockTransport(hang)) as client:
            with pytest.raises(psi.NoResponseError, match="timed out"):
                await client.ping()

    run(program())


@pytest.mark.parametrize("external_id", [".", "..", "a/../b", "zoë +1%2F|"])
def test_a_path_is_sent_as_it_is_signed(external_id: str) -> None:
    seen: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={})

    async def program() -> None:
        async with aio.AsyncClient(*SETTINGS, transport=httpx.MockTransport(respond)) as client:
            await client.get_user(external_id)

    run(program())
    [request] = seen
    target = request.url.raw_path.decode()
    signed = psi.canonical_request("GET", target, request.headers["X-Request-Timestamp"], "", b"")
    assert psi.sign("secret", signed) == request.headers["X-Request-Signature"]
    assert len(urlsplit(target).path.split("/")) == 4


def test_redirects_are_not_followed_and_cookies_not_kept() -> None:
    seen: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        headers = {"Location": "https://elsewhere.example/", "Set-Cookie": "a=b"}
        return httpx.Response(302, headers=headers)

    async def program() -> None:
        async with aio.AsyncClient(*SETTINGS, transport=httpx.MockTransport(respond)) as client:
            for _ in range(2):
                with suppress(psi.ApiError):
                    await client.ping()

    run(program())
    assert {request.url.host for request in seen} == {"partners.example"}
    assert [request.headers.get("Cookie") for request in seen] == [None, None]


def test_what_nobody_can_send_is_refused_at_once() -> None:
    async def program() -> None:
        async with aio.AsyncClient(*SETTINGS) as client:
            with pytest.raises(psi.ConfigurationError, match="malformed"):
                await client.request("GET", "/v1/users/a b")
            with pytest.raises(psi.ConfigurationError, match="malformed"):
                await client.request("GET", "/v1/" + "a" * 70_000)
            with pytest.raises(ValueError, match="ascii"):
                await client.request("GET", "/v1/users/é")

    run(program())


def test_it_says_what_it_needs_without_httpx(tmp_path: Path) -> None:
    (tmp_path / "httpx.py").write_text("raise ModuleNotFoundError('httpx', name='httpx')")
    program = "import psi; import psi.aio"
    environment = ENVIRONMENT | {"PYTHONPATH": f"{tmp_path}:{ROOT / 'clients' / 'python' / 'src'}"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "ImportError: psi.aio needs httpx: pip install" in done.stderr
