"""The snippets of events: a loop that follows the feed across crashes, and a receiver that verifies webhooks."""

import base64
import hmac
import http.client
import json
import secrets
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
from standardwebhooks import Webhook

from events.models import EventFeed
from tests import factories
from tests.examples.calling import Access
from tests.examples.gateway import Gateway
from tests.examples.languages import BASH, PROGRAMS, Workshop, require, workshop
from tests.slow.live.conftest import free_port
from tests.support.client import Response
from tests.support.events import place_events
from tests.support.timeouts import WAIT_SECONDS
from transactions.documents.publishing import withdraw
from users import requirements
from users.models import Status, User

EVENT_ID = "0d6f2f6a-8a53-4c3e-9b0e-3f2d6a1c7b95"
EVENT = {
    "eventId": EVENT_ID,
    "type": "user.statusChanged",
    "createdAt": "2026-01-15T10:30:00.123456Z",
    "data": {"externalId": "cust-Zoë", "userId": "1", "status": "active", "updatedAt": "2026-01-15T10:30:00.123456Z"},
}

pytestmark = pytest.mark.parametrize("suffix", PROGRAMS)


@pytest.fixture
def own_place(tmp_path: Path, suffix: str) -> Workshop:
    """A folder of this test: the snippets leave files."""
    language, _ = PROGRAMS[suffix]
    if language is BASH:
        require("jq")
    return workshop(tmp_path).built(language)


def until(condition: Any) -> None:
    """Wait until it is true."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true"
        time.sleep(0.05)


def last_cursor(user: User) -> str:
    return f"{EventFeed.objects.get(partner=user.partner_id).last_position:016x}"


class Follower:
    """Runs the loop of one language, with short pauses."""

    def __init__(self, place: Workshop, suffix: str, access: Access, gateway: Gateway) -> None:
        self.place, self.name = place, f"follow_events{suffix}"
        self.command = (PROGRAMS[suffix][1], self.name)
        self.environment = access.environment(PSI_BASE_URL=gateway.url)
        program = place.folder / self.name
        text = program.read_text()
        for long, short in {"= 2.0": "= 0.1", "= 2000;": "= 100;", "=2\n": "=0.1\n"}.items():
            text = text.replace(long, short, 1)
        # Pages of two, so that there are several.
        program.write_text(text.replace("limit: 100", "limit: 2").replace("limit=100", "limit=2"))

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        process = self.place.start(self.command, self.environment)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    @property
    def lines(self) -> list[str]:
        return (self.place.folder / f"{self.name}.out").read_text().splitlines()

    @property
    def cursor(self) -> str:
        path = self.place.folder / "events.cursor"
        return path.read_text() if path.exists() else ""

    @property
    def statuses(self) -> dict[str, str]:
        path = self.place.folder / "statuses.json"
        found = json.loads(path.read_text()) if path.exists() else {}
        return {external_id: data["status"] for external_id, data in found.items()}


@pytest.fixture
def follower(own_place: Workshop, suffix: str, access: Access, gateway: Gateway) -> Follower:
    return Follower(own_place, suffix, access, gateway)


def test_a_follower_that_is_killed_continues_where_it_ended(follower: Follower, user: User) -> None:
    factories.decide(user, Status.SUSPENDED)
    factories.add_conversions(user, [factories.NOON] * 3)
    document = factories.DocumentFactory.create(user=user)
    by = factories.StaffFactory.create(role="reviewer")
    requirement = requirements.open_requirement(user=user, code="other", message="Which school is it?", by=by)
    place_events()
    with follower.running():
        until(lambda: follower.cursor == last_cursor(user))
    requirements.close_requirement(requirement_id=requirement.pk, by=by)
    factories.StatusChangeFactory.create(user=user, to_status=Status.ACTIVE)
    withdraw(document=document, by=by, reason="Of another customer")
    place_events()
    with follower.running():
        until(lambda: follower.cursor == last_cursor(user))
    assert follower.statuses == {"cust-1001": "active"}
    assert follower.lines == [
        "cust-1001 is active",
        "cust-1001 is suspended",
        "cust-1001 has 3 more conversions since 2026-01-15T12:00:00.000000Z",
        f"cust-1001 has document {document.document_id}",
        "cust-1001 has 1 open requirements",
        "cust-1001 has 0 open requirements",
        "cust-1001 is active",
        f"cust-1001 no longer has document {document.document_id}",
    ]


def test_what_was_handled_but_not_saved_is_read_again_and_changes_nothing(follower: Follower, user: User) -> None:
    factories.decide(user, Status.ACTIVE)
    factories.DocumentFactory.create(user=user)
    place_events()
    for _ in range(2):
        (follower.place.folder / "events.cursor").unlink(missing_ok=True)
        with follower.running():
            until(lambda: follower.cursor == last_cursor(user))
    assert follower.statuses == {"cust-1001": "active"}
    assert follower.lines.count("cust-1001 is active") == 1


def test_a_follower_outlives_failures(follower: Follower, gateway: Gateway, user: User) -> None:
    factories.decide(user, Status.ACTIVE)
    place_events()
    gateway.faults, gateway.retry_after = [503, "lost", 429, None, "lost"], 0
    with follower.running():
        until(lambda: follower.cursor == last_cursor(user) and not gateway.faults)
    assert follower.statuses == {"cust-1001": "active"}


def test_unknown_types_are_ignored_and_the_greatest_updated_at_is_kept(follower: Follower, gateway: Gateway) -> None:
    def status_changed(status: str, second: int) -> dict[str, Any]:
        data = {"externalId": "cust-1001", "status": status, "updatedAt": f"2026-01-15T10:30:{second:02}.000000Z"}
        return {"type": "user.statusChanged", "data": data}

    items = [status_changed("suspended", 9), {"type": "user.renamed", "data": {}}, status_changed("active", 3)]
    page = {"nextCursor": "later", "hasMore": False, "items": items}
    gateway.service = lambda *_: Response(200, {"Content-Length": str(len(body))}, body)
    body = json.dumps(page).encode()
    with follower.running():
        until(lambda: follower.cursor == "later")
        until(lambda: len(gateway.seen) > 2)
    assert follower.statuses == {"cust-1001": "suspended"}
    assert follower.lines[0] == "cust-1001 is suspended"
    assert "user.renamed" not in str(follower.lines)


def test_a_follower_ends_where_its_cursor_is_refused(follower: Follower) -> None:
    (follower.place.folder / "events.cursor").write_text("none")
    with follower.running() as process:
        assert process.wait(timeout=WAIT_SECONDS) == 1
    assert "Must be a nextCursor of this list" in str(follower.lines)


# Webhooks


class Receiver:
    """The receiver of one language."""

    def __init__(self, place: Workshop, suffix: str, secret: str, **settings: str) -> None:
        self.place, self.name, self.settings = place, f"receive_webhook{suffix}", settings
        self.command, self.secret = (PROGRAMS[suffix][1], self.name), secret
        self.port = free_port()

    @contextmanager
    def running(self) -> Iterator[None]:
        environment = {"PSI_WEBHOOK_SECRET": self.secret, "PORT": str(self.port)} | self.settings
        process = self.place.start(self.command, environment)
        try:
            until(self._listens)
            yield
        finally:
            process.kill()
            process.wait()

    def _listens(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def post(self, body: bytes, headers: dict[str, str]) -> int:
        """The status of the response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_SECONDS)
        try:
            connection.request("POST", "/", body, {"Content-Type": "application/json"} | headers)
            return connection.getresponse().status
        finally:
            connection.close()

    @property
    def lines(self) -> list[str]:
        return (self.place.folder / f"{self.name}.out").read_text().splitlines()


class CgiReceiver(Receiver):
    """Bash's, which a server starts for each request."""

    printed = ""

    @contextmanager
    def running(self) -> Iterator[None]:
        yield

    def post(self, body: bytes, headers: dict[str, str]) -> int:
        variables = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
        environment = {"PSI_WEBHOOK_SECRET": self.secret, "CONTENT_LENGTH": str(len(body))} | variables
        done = self.place.run(self.command, environment, body)
        self.printed += done.stderr.decode()
        assert done.stdout.startswith(b"Status: ")
        assert done.stdout.endswith(b"\r\n\r\n")
        return int(done.stdout.split()[1])

    @property
    def lines(self) -> list[str]:
        return self.printed.splitlines()


def new_secret() -> str:
    return f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"


def signed(body: bytes, *under: str, age: timedelta = timedelta(0)) -> dict[str, str]:
    """The headers of Standard Webhooks, with a signature under each secret."""
    at = datetime.now(UTC) - age
    signatures = [Webhook(secret).sign(EVENT_ID, at, body.decode()) for secret in under]
    return {
        "webhook-id": EVENT_ID,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


@pytest.fixture
def receiver(own_place: Workshop, suffix: str) -> Iterator[Receiver]:
    found = (CgiReceiver if suffix == ".sh" else Receiver)(own_place, suffix, new_secret())
    with found.running():
        yield found


BODY = json.dumps(EVENT, ensure_ascii=False, separators=(",", ":")).encode()


def test_a_webhook_is_received_once_however_often_it_is_sent(receiver: Receiver) -> None:
    for _ in range(3):
        assert receiver.post(BODY, signed(BODY, receiver.secret)) == 204
    assert receiver.lines == ["user.statusChanged cust-Zoë"]


def test_a_receiver_serves_https_with_a_certificate(own_place: Workshop, suffix: str) -> None:
    if suffix == ".sh":
        pytest.skip("Bash's is a program of an HTTPS server")
    authority = trustme.CA()
    certificate, context = authority.issue_cert("localhost"), ssl.create_default_context()
    authority.configure_trust(context)
    certificate.private_key_pem.write_to_path(str(own_place.folder / "key.pem"))
    certificate.cert_chain_pems[0].write_to_path(str(own_place.folder / "cert.pem"))
    secure = Receiver(own_place, suffix, new_secret(), TLS_CERT="cert.pem", TLS_KEY="key.pem")
    with secure.running():
        connection = http.client.HTTPSConnection("localhost", secure.port, timeout=WAIT_SECONDS, context=context)
        with closing(connection):
            connection.request("POST", "/", BODY, signed(BODY, secure.secret))
            assert connection.getresponse().status == 204
    assert secure.lines == ["user.statusChanged cust-Zoë"]


def test_while_secrets_overlap_either_verifies(receiver: Receiver) -> None:
    own, other = receiver.secret, new_secret()
    assert [receiver.post(BODY, signed(BODY, *under)) for under in ((own, other), (other, own))] == [204, 204]


def test_what_is_not_signed_so_is_refused(receiver: Receiver) -> None:
    valid = signed(BODY, receiver.secret)
    refused = {
        "another body": (BODY.replace(b"active", b"closed"), valid),
        "another secret": (BODY, signed(BODY, new_secret())),
        "too old": (BODY, signed(BODY, receiver.secret, age=timedelta(minutes=6))),
        "too new": (BODY, signed(BODY, receiver.secret, age=-timedelta(minutes=6))),
        "another id": (BODY, valid | {"webhook-id": "0d6f2f6a-8a53-4c3e-9b0e-3f2d6a1c7b96"}),
        "another time": (BODY, valid | {"webhook-timestamp": str(int(valid["webhook-timestamp"]) + 1)}),
        "a time that is none": (BODY, valid | {"webhook-timestamp": "now"}),
        "a time of 309 digits": (BODY, valid | {"webhook-timestamp": "9" * 309}),
        "a time of 5,000 digits": (BODY, valid | {"webhook-timestamp": "9" * 5000}),
        "a signature that is none": (BODY, valid | {"webhook-signature": "none"}),
        "another version": (BODY, valid | {"webhook-signature": valid["webhook-signature"].replace("v1,", "v2,")}),
        "no headers": (BODY, {}),
    }
    assert {cause: receiver.post(*request) for cause, request in refused.items()} == dict.fromkeys(refused, 401)
    assert receiver.lines == []


def test_a_body_that_is_too_large_is_refused(receiver: Receiver) -> None:
    body = b" " * (64 * 1024 + 1)
    assert receiver.post(body, signed(body, receiver.secret)) == 413


@pytest.mark.parametrize("secret", ["whsec_", "whsec_AAAA", "whsec_!"])
def test_an_empty_or_short_secret_verifies_nothing(own_place: Workshop, suffix: str, secret: str) -> None:
    # Signed under the empty key, and under the short one.
    at, keys = str(int(time.time())), (b"", base64.b64decode("AAAA"))
    macs = [hmac.digest(key, f"{EVENT_ID}.{at}.".encode() + BODY, "sha256") for key in keys]
    signatures = " ".join(f"v1,{base64.b64encode(mac).decode()}" for mac in macs)
    headers = {"webhook-id": EVENT_ID, "webhook-timestamp": at, "webhook-signature": signatures}
    careless = (CgiReceiver if suffix == ".sh" else Receiver)(own_place, suffix, secret)
    with careless.running():
        try:
            status = careless.post(BODY, headers)
        except http.client.RemoteDisconnected:
            status = 500
    assert status == 500


def test_a_receiver_without_a_secret_says_so(own_place: Workshop, suffix: str) -> None:
    done = own_place.run((PROGRAMS[suffix][1], f"receive_webhook{suffix}"))
    assert done.returncode == 1
    assert b"PSI_WEBHOOK_SECRET is not set\n" in done.stderr
