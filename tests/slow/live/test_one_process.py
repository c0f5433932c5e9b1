"""One process of the service: documents, pages, hostile heads, lost answers, and columns that change."""

import hashlib
import http.client
import os
import secrets
import shutil
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest
from django.db import connections
from psycopg import sql as composed
from pytest_django import Settings

from config.serve import THREADS
from core.database import serving_role
from core.streaming import MAX_STREAMS_PER_OWNER
from partners.models import Mode, Partner
from tests import factories
from tests.conftest import database_url
from tests.slow.live.conftest import Server
from tests.support.client import PartnerClient, Response
from tests.support.documents import LONG, add_document, path_of, stored_at
from tests.support.static_files import static_files
from tests.support.timeouts import WAIT_SECONDS
from tests.support.watched import Watched, wait_until, watched
from tests.test_over_the_wire import exchange
from transactions.documents.downloads import CHUNK_BYTES
from transactions.models import Document
from users.models import User

Alter = Callable[[str, str, str], None]
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server has its documents."""
    return tmp_path_factory.mktemp("documents")


@pytest.fixture(scope="module")
def server(django_db_setup: None, kept: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A service with a large static file."""
    folder = tmp_path_factory.mktemp("static") / "root"
    shutil.copytree(static_files(), folder, copy_function=os.symlink)
    # More than connections hold, as files of pages may be one day.
    (folder / "large.css").write_bytes(b"a" * 8 * MIB)
    given = {"DOCUMENT_STORAGE_URL": kept.as_uri(), "TEST_STATIC_ROOT": str(folder)}
    with watched(tmp_path_factory.mktemp("log") / "log", **given) as running:
        yield running


# Documents: complete, or visibly cut off, and never in memory


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


# Staff pages, behind a TLS proxy


def begun_and_not_read(server: Server, path: str) -> socket.socket:
    """A request whose response waits in buffers as small as there are."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    connection.connect(("127.0.0.1", server.port))
    connection.sendall(b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-Proto: https\r\n\r\n" % path.encode())
    assert connection.recv(12) == b"HTTP/1.1 200"
    return connection


def test_a_client_that_does_not_read_a_static_file_delays_no_others(server: Server) -> None:
    with ExitStack() as stack:
        for _ in range(2 * THREADS):
            stack.enter_context(begun_and_not_read(server, "/static/large.css"))
        assert server.transport("GET", "/v1/ping", {}, b"").status == 401


def test_staff_are_sent_to_https(server: Server) -> None:
    response = server.transport("GET", "/admin/", {}, b"")
    assert (response.status, response.header("Location")) == (301, f"https://127.0.0.1:{server.port}/admin/")


def test_pages_have_hsts_and_a_strict_permissions_policy(server: Server) -> None:
    response = server.transport("GET", "/admin/", {"X-Forwarded-Proto": "https"}, b"")
    assert response.status == 302
    assert response.header("Strict-Transport-Security") == "max-age=31536000; includeSubDomains; preload"
    assert "frame-ancestors 'none'" in (response.header("Content-Security-Policy") or "")
    assert response.header("X-Frame-Options") == "DENY"


# Request heads made to be expensive or to fail, sent without a key


PATHS = ["/docs/", "/openapi.json", "/admin/account/login/", "/admin/", "/nothing", "/v1/ping", "/v1/users"]
# Each would be decoded by a codec that the sender names; the first of them does not exist.
CONTENT_TYPES = [
    "text/plain; x*=no-such-codec''a",
    "text/plain; x*=punycode''" + "a" * 10_000,
    "text/plain; x*0*=undefined''a; x*1=b",
    "multipart/form-data; boundary*=no-such-codec''a",
    "multipart/form-data; boundary=a; charset=no-such-codec",
    "application/x-www-form-urlencoded; charset=punycode",
    "application/x-www-form-urlencoded; charset=hex",
    "application/json; x*=no-such-codec''a",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_no_content_type_makes_a_path_fail(server: Server, method: str, path: str) -> None:
    for content_type in CONTENT_TYPES:
        headers = {"X-Forwarded-Proto": "https", "Content-Type": content_type}
        response = server.transport(method, path, headers, b"--a\r\n\r\n" if method == "POST" else b"")
        assert response.status < 500, content_type
        assert response.header("X-Request-Id"), content_type


def test_a_part_of_a_form_names_no_codec_either(server: Server) -> None:
    form = b"--a\r\nContent-Disposition: form-data; name*=no-such-codec''a\r\n\r\nb\r\n--a--\r\n"
    headers = {"X-Forwarded-Proto": "https", "Content-Type": "multipart/form-data; boundary=a"}
    response = server.transport("POST", "/admin/account/login/", headers, form)
    assert (response.status, bool(response.header("X-Request-Id"))) == (403, True)  # without a CSRF token


@pytest.mark.parametrize(
    "content_type", ["application/json; x*=no-such-codec''a", "application/json; x=y", "Application/JSON"]
)
def test_a_media_type_is_read_without_its_other_parameters(client: PartnerClient, content_type: str) -> None:
    response = client.send("POST", "/v1/users", {}, headers={"Content-Type": content_type})
    assert response.status == 400


@pytest.mark.parametrize("path", PATHS)
def test_a_head_of_32_kib_is_refused_by_the_server_itself(server: Server, path: str) -> None:
    start = b"GET %b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" % path.encode()
    one_field = b"X-Padding: %b\r\n" % (b"a" * 32 * 1024)
    many_fields = b"".join(b"X-Padding-%d: a\r\n" % number for number in range(90)) + b"X: %b\r\n" % (b"a" * 32 * 1024)
    assert [exchange(server, start + fields + b"\r\n")[0] for fields in (one_field, many_fields)] == [431, 431]


def test_a_head_that_is_large_and_well_is_answered(server: Server) -> None:
    start = b"GET /docs/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n"
    assert exchange(server, start + b"X-Padding: %b\r\n\r\n" % (b"a" * 15 * 1024))[0] == 200


@pytest.mark.parametrize(
    ("path", "headers", "status", "heading"),
    [
        ("/admin/account/login/", {"Host": "evil.example"}, 400, b"<h1>Bad request</h1>"),
        ("/nothing", {}, 404, b"Page not found"),
        ("/static/nothing.css", {}, 404, b"Page not found"),
    ],
)
def test_a_page_of_an_error_is_the_product_s_own(
    server: Server, path: str, headers: dict[str, str], status: int, heading: bytes
) -> None:
    response = server.transport("GET", path, {"X-Forwarded-Proto": "https"} | headers, b"")
    assert (response.status, heading in response.body, bool(response.header("X-Request-Id"))) == (status, True, True)


# A lost answer


def test_the_connection_breaks_after_the_effect_and_no_line_is_an_error(server: Watched, partner: Partner) -> None:
    """X-Sandbox-Fault: lostAnswer over a socket: contract, section 11."""
    key, body, before = str(uuid.uuid4()), factories.user_body(), len(server.lines())
    sandbox = factories.PartnerFactory.create(slug=f"lost-{uuid.uuid4()}", mode=Mode.SANDBOX)
    client = factories.client_of(sandbox, server.transport)
    with pytest.raises(http.client.IncompleteRead):
        client.post("/v1/users", body, key=key, headers={"X-Sandbox-Fault": "lostAnswer"})
    assert client.get(f"/v1/idempotency-keys/{key}").json()["status"] == 201
    assert client.post("/v1/users", body, key=key).header("Idempotent-Replayed") == "true"
    assert {line["level"] for line in server.lines()[before:]} == {"info"}


# A migration that widens columns does not break connections with prepared statements. At the end: when a column is as
# before, the connections have stale plans again, and each would cost a later request its first attempt.


TRIGGERS = """
    SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal
"""
TYPE_OF = """
    SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s
"""


def set_type(table: str, column: str, new: str) -> str:
    """Changes a column's type as the owner; its type before. Triggers that name the column would forbid it."""
    with psycopg.connect(database_url(serving_role.OWNER)) as owner:
        (before,) = owner.execute(TYPE_OF, [table, column]).fetchone() or ("",)
        triggers = owner.execute(TRIGGERS, [table]).fetchall()
        names = composed.Identifier(table), composed.Identifier(column)
        for name, _ in triggers:
            owner.execute(composed.SQL("DROP TRIGGER {} ON {}").format(composed.Identifier(name), names[0]))
        owner.execute(composed.SQL("ALTER TABLE {} ALTER COLUMN {} TYPE ").format(*names) + composed.SQL(new))
        for _, definition in triggers:
            owner.execute(definition)
    return str(before)


@contextmanager
def restoring() -> Iterator[Alter]:
    changed: list[tuple[str, str, str]] = []

    def alter(table: str, column: str, new: str) -> None:
        changed.append((table, column, set_type(table, column, new)))

    try:
        yield alter
    finally:
        for table, column, before in changed:
            set_type(table, column, before)
        # This process has prepared statements too, which other tests use inside a transaction.
        connections.close_all()


@pytest.fixture
def alter(partner: Partner) -> Iterator[Alter]:
    """Changes the type of a column, until the test ends."""
    with restoring() as change:
        yield change


def often(send: Callable[[], Response]) -> set[int]:
    """The statuses of several responses, so that more than one of the server's threads gives some."""
    return {send().status for _ in range(8)}


@pytest.mark.parametrize("with_key", [False, True], ids=["no key", "idempotency key"])
def test_writes_go_on_and_take_effect_once(
    client: PartnerClient, partner: Partner, alter: Alter, *, with_key: bool
) -> None:
    def key() -> str | None:
        return str(uuid.uuid4()) if with_key else None

    def create() -> Response:
        return client.post("/v1/users", factories.user_body(), key=key())

    user = str(factories.user_body()["externalId"])
    assert client.post("/v1/users", factories.user_body(externalId=user)).status == 201
    cities = iter(f"City {number}" for number in range(100))

    def update() -> Response:
        return client.patch(f"/v1/users/{user}", {"city": next(cities)}, key=key())

    assert (often(create), often(update)) == ({201}, {200})
    alter("users_user", "city", "varchar(200)")
    alter("users_user", "status", "varchar(200)")
    assert (often(update), often(create)) == ({200}, {201})
    assert partner.users.count() == 17
    assert partner.users.get(external_id=user).city == "City 15"


def test_a_stored_response_is_looked_up_and_replayed(client: PartnerClient, partner: Partner, alter: Alter) -> None:
    body, key = factories.user_body(), str(uuid.uuid4())
    first = client.post("/v1/users", body, key=key)
    assert often(lambda: client.post("/v1/users", body, key=key)) == {201}
    assert often(lambda: client.get(f"/v1/idempotency-keys/{key}")) == {200}
    alter("partners_idempotencyrecord", "location", "varchar(5000)")
    alter("partners_idempotencyrecord", "path", "varchar(4000)")
    assert often(lambda: client.get(f"/v1/idempotency-keys/{key}")) == {200}
    again = client.post("/v1/users", body, key=key)
    assert (again.status, again.body, again.header("Idempotent-Replayed")) == (201, first.body, "true")
