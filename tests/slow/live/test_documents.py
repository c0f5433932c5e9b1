"""Documents over a real connection: complete, or visibly cut off, and never in memory."""

import hashlib
import http.client
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest
from pytest_django import Settings

from config.serve import THREADS
from core.streaming import MAX_STREAMS_PER_OWNER
from partners.models import Partner
from tests import factories
from tests.slow.live.conftest import Server, start_server
from tests.support.client import PartnerClient
from tests.support.documents import LONG, add_document, path_of, stored_at
from tests.support.timeouts import WAIT_SECONDS
from tests.support.watched import wait_until
from transactions.documents.downloads import CHUNK_BYTES
from transactions.models import Document
from users.models import User

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server has its documents."""
    return tmp_path_factory.mktemp("documents")


@pytest.fixture(scope="module")
def server(django_db_setup: None, kept: Path) -> Iterator[Server]:
    running = start_server(DOCUMENT_STORAGE_URL=kept.as_uri())
    yield running
    running.process.terminate()
    running.process.wait(timeout=WAIT_SECONDS)


@pytest.fixture
def client(server: Server, partner: Partner, kept: Path, settings: Settings) -> PartnerClient:
    settings.STORAGES = stored_at(kept.as_uri())
    return factories.client_of(partner, server.transport)


@pytest.fixture
def other_client(client: PartnerClient, server: Server) -> PartnerClient:
    """A client of another partner."""
    partner = factories.PartnerFactory.create(slug=f"committed-{secrets.token_hex(4)}")
    return factories.client_of(partner, server.transport)


@pytest.fixture
def user(client: PartnerClient) -> User:
    return User.objects.get(pk=client.post("/v1/users", factories.user_body()).json()["userId"])


def url(document: Document) -> str:
    return f"/v1/users/{document.user.external_id}/documents/{document.document_id}"


@contextmanager
def begun(client: PartnerClient, server: Server, document: Document) -> Iterator[http.client.HTTPResponse]:
    """A response whose body has still to be read."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT_SECONDS)
    try:
        path = url(document)
        connection.request("GET", path, headers=client.headers("GET", path, b"", key=None, timestamp=None, secret=None))
        yield connection.getresponse()
    finally:
        connection.close()


def test_a_file_arrives_whole(client: PartnerClient, user: User) -> None:
    response = client.get(url(add_document(user, LONG)))
    assert (response.status, response.header("Content-Length"), response.body == LONG) == (200, str(len(LONG)), True)


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[:-1] + b"!",
        lambda whole: b"!" + whole[1:],
        lambda whole: whole[:-1],
        lambda whole: whole + b"!",
        lambda whole: whole + whole,
    ],
    ids=["last byte", "first byte", "a byte less", "a byte more", "twice"],
)
def test_a_changed_document_is_cut_off_before_its_last_byte(
    client: PartnerClient, user: User, kept: Path, damage: Callable[[bytes], bytes]
) -> None:
    document = add_document(user, LONG)
    path_of(kept, document).write_bytes(damage(LONG))
    # Sometimes before the head has left.
    with pytest.raises((http.client.IncompleteRead, http.client.RemoteDisconnected)) as raised:
        client.get(url(document))
    partial = getattr(raised.value, "partial", b"")
    assert len(partial) <= len(LONG) - len(b"the end")
    # The connection is spent, the server is not.
    assert client.get("/v1/ping").status == 200


def test_a_file_that_changes_while_it_is_sent_is_broken_off(
    client: PartnerClient, server: Server, user: User, kept: Path
) -> None:
    content = LONG * 60
    document = add_document(user, content)
    with begun(client, server, document) as response:
        response.read(CHUNK_BYTES)
        # More than connections hold: the server has not read so far.
        with path_of(kept, document).open("r+b") as file:
            file.truncate(len(content) - CHUNK_BYTES)
        with pytest.raises(http.client.IncompleteRead):
            response.read()


def test_a_client_that_disconnects_leaves_no_trace_in_the_server(
    client: PartnerClient, server: Server, user: User
) -> None:
    document = add_document(user, LONG * 60)
    for _ in range(4):
        with begun(client, server, document) as response:
            response.read(CHUNK_BYTES)
    assert client.get(url(document)).status == 200


def test_slow_readers_leave_threads_for_everybody_else(
    client: PartnerClient, other_client: PartnerClient, server: Server, user: User
) -> None:
    document, small = add_document(user, LONG * (32 * MIB // len(LONG))), add_document(user)
    with ExitStack() as stack:
        # More than connections hold, and more readers than the worker has threads; none of them reads on.
        responses = [stack.enter_context(begun(client, server, document)) for _ in range(THREADS + 2)]
        assert [response.status for response in responses] == [200] * MAX_STREAMS_PER_OWNER + [503] * (
            THREADS + 2 - MAX_STREAMS_PER_OWNER
        )
        assert responses[-1].getheader("Retry-After")
        # Another partner downloads as ever, and what is one piece is sent to all.
        others = User.objects.get(pk=other_client.post("/v1/users", factories.user_body()).json()["userId"])
        assert other_client.get(url(add_document(others, LONG))).status == 200
        assert client.get(url(small)).status == 200
        with ThreadPoolExecutor(4) as pool:
            pings = pool.map(lambda _: client.get("/v1/ping").status, range(20))
            assert set(pings) == {200}
    # Those who have gone take no place.
    wait_until(lambda: client.get(url(add_document(user, LONG))).status == 200)


def test_memory_stays_flat_whatever_the_size(client: PartnerClient, server: Server, user: User) -> None:
    content = LONG * (64 * MIB // len(LONG))
    document, small = add_document(user, content), add_document(user, LONG)
    for _ in range(4):  # a thread has sent one before
        client.get(url(small))
    (worker,) = psutil.Process(server.process.pid).children()
    before, most, digest = worker.memory_info().rss, 0, hashlib.sha256()
    with begun(client, server, document) as response:
        while piece := response.read(MIB):
            digest.update(piece)
            most = max(most, worker.memory_info().rss)
            time.sleep(0.001)
    assert digest.digest() == hashlib.sha256(content).digest()
    assert most - before < 16 * MIB
