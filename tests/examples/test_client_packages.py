"""The clients of the packages, in both languages, against a live service and a gateway that fails."""

import base64
import json
import re
import secrets
import select
import socket
import ssl
import threading
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import pytest
import trustme
from standardwebhooks import Webhook

import psi
from partners.events import feed
from partners.models import EventFeed, Mode, Partner
from tests import factories
from tests.examples.calling import Access
from tests.examples.driven import LANGUAGES, DrivenClient, call
from tests.examples.gateway import Gateway
from tests.examples.languages import NODE, Language, Workshop
from tests.live.conftest import Server
from tests.support.client import Response
from tests.support.documents import add_document
from tests.support.events import place_events
from tests.support.watched import wait_until
from users.models import Status, User, UserEvent

pytestmark = pytest.mark.parametrize("language", LANGUAGES, ids=str)
CHANGES = {"city": "Ottawa", "postalCode": "K1P 5W1"}


@pytest.fixture
def driven(place: Workshop, language: Language, access: Access) -> DrivenClient:
    """A client of the service."""
    return DrivenClient(place.built(language), language, access)


@pytest.fixture
def through(driven: DrivenClient, gateway: Gateway) -> DrivenClient:
    """A client that reaches the service through the gateway."""
    access = Access(gateway.url, driven.access.api_key, driven.access.secret)
    return DrivenClient(driven.place, driven.language, access)


@pytest.fixture
def sandbox(driven: DrivenClient, server: Server, django_db_blocker: Any) -> Iterator[DrivenClient]:
    """A client of a sandbox partner."""
    with django_db_blocker.unblock():
        partner = factories.PartnerFactory.create(slug=f"sandbox-{secrets.token_hex(4)}", mode=Mode.SANDBOX)
        key = factories.client_of(partner, server.transport)
        access = Access(driven.access.base_url, key.api_key, key.secret)
        yield DrivenClient(driven.place, driven.language, access)


class KeepAlive(ThreadingHTTPServer):
    """Answers `ping`. peers: the client's address of each request. closes: whether it closes the connection after a
    response without saying so. drips: what it sends byte by byte, for half a minute."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), KeepAliveHandler)
        self.peers: list[Any] = []
        self.closes = False
        self.drips: Literal["head", "body"] | None = None
        self.user_agents: set[str] = set()
        self.stopped = threading.Event()

    @property
    def settings(self) -> dict[str, str]:
        return {"PSI_BASE_URL": f"http://127.0.0.1:{self.server_port}"}


class KeepAliveHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: KeepAlive

    def do_GET(self) -> None:
        self.server.peers.append(self.client_address)
        self.server.user_agents.add(self.headers["User-Agent"])
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 150\r\nX-Filler: " + b"-" * 150 + b"\r\n\r\n"
        body = b"{}".ljust(150)
        for name, part in (("head", head), ("body", body)):
            if name != self.server.drips:
                self.wfile.write(part)
                continue
            for byte in part:
                self.server.stopped.wait(0.2)
                self.wfile.write(bytes([byte]))
        self.close_connection = self.server.closes

    def log_message(self, *_: object) -> None:
        """The test's output is no place for it."""


@pytest.fixture
def keep_alive() -> Iterator[KeepAlive]:
    with KeepAlive() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,)).start()
        yield server
        server.stopped.set()
        server.shutdown()


class Tunnel(ThreadingHTTPServer):
    """A proxy for TLS. seen: target and credentials of each CONNECT. wants_credentials: of who gives none."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), TunnelHandler)
        self.seen: list[tuple[str, str | None]] = []
        self.wants_credentials = False


class TunnelHandler(BaseHTTPRequestHandler):
    server: Tunnel

    def do_CONNECT(self) -> None:
        self.server.seen.append((self.path, self.headers["Proxy-Authorization"]))
        if self.server.wants_credentials and not self.headers["Proxy-Authorization"]:
            self.send_error(407)
            return
        host, _, port = self.path.partition(":")
        self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        with socket.create_connection((host, int(port))) as service:
            ends = {service: self.connection, self.connection: service}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    if not (data := end.recv(65536)):
                        return
                    ends[end].sendall(data)

    def log_message(self, *_: object) -> None:
        """The test's output is no place for it."""


@pytest.fixture
def tunnel() -> Iterator[Tunnel]:
    with Tunnel() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,)).start()
        yield server
        server.shutdown()


@pytest.fixture
def authority() -> trustme.CA:
    """Signs the certificate of tls_server."""
    return trustme.CA()


@pytest.fixture
def tls_server(authority: trustme.CA) -> Iterator[str]:
    """A server with a certificate that the system does not trust; it implements no method."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.05,)).start()
        yield f"https://localhost:{server.server_port}"
        server.shutdown()


# Operations


def test_users_are_created_changed_read_and_listed(driven: DrivenClient, committed_partner: Partner) -> None:
    body, key = factories.user_body(externalId="zoë +1", firstName="Zoë"), str(uuid.uuid4())
    ping, created, again, write, changed, read, *lists, none = driven.results(
        call("ping"),
        call("createUser", body, idempotencyKey=key),
        call("createUser", body, idempotencyKey=key),
        call("getIdempotencyKey", key),
        call("updateUser", "zoë +1", {"city": "Montréal", "province": "QC", "postalCode": "H2Y 1C6"}),
        call("getUser", "zoë +1"),
        call("users"),
        call("users", status="active"),
        call("getIdempotencyKey", str(uuid.uuid4())),
    )
    assert ping["partner"] == committed_partner.slug
    assert created == again
    assert (write["method"], write["path"], write["status"]) == ("POST", "/v1/users", 201)
    assert changed == read
    assert [[one["externalId"] for one in users] for users in lists] == [["zoë +1"], []]
    assert none is None
    assert committed_partner.users.get(external_id="zoë +1").city == "Montréal"


def test_lists_are_read_page_by_page(through: DrivenClient, gateway: Gateway, user: User) -> None:
    first = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
    factories.add_conversions(user, [first + timedelta(seconds=number // 2) for number in range(7)])
    path = f"/v1/users/{user.external_id}/transactions"
    conversions, pages = through.results(call("transactions", user.external_id, limit=3), call("pages", path, limit=3))
    assert sorted(one["conversionId"] for one in conversions) == sorted(c.conversion_id for c in user.conversions.all())
    assert [len(page["items"]) for page in pages] == [3, 3, 1]
    assert len(gateway.seen) == 6


def test_a_file_is_the_listed_one(through: DrivenClient, gateway: Gateway, user: User) -> None:
    document = add_document(user, b"%PDF-1.7\n\0\xff\n\n")
    (listed,) = through.results(call("documents", user.external_id))[0]
    # A file that is cut or spoilt on the way is requested again.
    gateway.faults = ["cut", "spoilt"]
    (file,) = through.results(call("getDocument", user.external_id, listed["documentId"], sha256=listed["sha256"]))
    assert (listed["documentId"], bytes.fromhex(file["hex"])) == (str(document.document_id), b"%PDF-1.7\n\0\xff\n\n")
    gateway.faults = ["spoilt"]
    get = call("getDocument", user.external_id, listed["documentId"], sha256=listed["sha256"])
    (refused,) = through.outcomes(get, attempts=1)
    assert (refused["raised"], refused["isTemporary"]) == ("NoResponseError", True)


def test_a_file_is_read_in_parts(through: DrivenClient, gateway: Gateway, user: User) -> None:
    content = bytes(range(256)) * 1000
    document = add_document(user, b"%PDF-1.7\n" + content)
    (listed,) = through.results(call("documents", user.external_id))[0]
    arguments = (user.external_id, str(document.document_id))
    # Before its first part has come, it is requested again.
    gateway.faults = [503]
    gateway.retry_after = 0
    (file,) = through.results(call("streamDocument", *arguments, sha256=listed["sha256"]))
    assert bytes.fromhex(file["hex"]) == b"%PDF-1.7\n" + content
    gateway.faults = ["cut", "spoilt"]
    refused = through.outcomes(*[call("streamDocument", *arguments, sha256=listed["sha256"])] * 2, attempts=1)
    assert [(one["raised"], one["isTemporary"]) for one in refused] == [("NoResponseError", True)] * 2
    (missing,) = through.outcomes(call("streamDocument", user.external_id, str(uuid.uuid4())))
    assert (missing["raised"], missing["status"]) == ("ApiError", 404)
    if through.language is not NODE:
        # What a failed attempt has written is written over.
        gateway.faults = ["cut", "spoilt"]
        (file,) = through.results(call("streamDocument", *arguments, sha256=listed["sha256"]))
        assert bytes.fromhex(file["hex"]) == b"%PDF-1.7\n" + content


# Sandbox


def test_the_sandbox_simulates_what_compliance_does(sandbox: DrivenClient) -> None:
    conversion = {
        "from": {"currency": "CAD", "amount": "100.00"},
        "to": {"currency": "USD", "amount": "71.82"},
        "rate": "0.7182",
    }
    _, active, conversions, document, requirement = sandbox.results(
        call("createUser", factories.user_body(externalId="zoë")),
        call("sandbox.simulateDecision", "zoë", {"status": "active"}),
        call("sandbox.simulateTransactions", "zoë", [conversion] * 2),
        call("sandbox.simulateDocument", "zoë", {"type": "taxSlip", "title": "T5"}),
        call("sandbox.simulateRequirement", "zoë", {"code": "sourceOfFunds"}),
    )
    assert active["status"] == "active"
    assert len(conversions["items"]) == 2
    assert (document["title"], requirement["state"]) == ("T5", "open")
    closed, requests = sandbox.results(
        call("sandbox.simulateClosing", "zoë", requirement["requirementId"]), call("sandbox.requests", limit=3)
    )
    assert closed["state"] == "closed"
    assert len(requests) <= 3


def test_webhooks_and_keys_are_managed_in_the_sandbox(sandbox: DrivenClient) -> None:
    ping, rotated, keys = sandbox.results(
        call("ping"), call("sandbox.rotateApiKey", overlapHours=1), call("sandbox.apiKeys")
    )
    partner = Partner.objects.get(slug=ping["partner"])
    webhook = str(factories.WebhookEndpointFactory.create(partner=partner).pk)
    new, old = (one["apiKeyPrefix"] for one in keys)
    assert rotated["apiKey"].startswith(new)
    unknown, listed, changed, removed, none, conflict = sandbox.outcomes(
        call("sandbox.addWebhook", {"url": "https://nowhere.invalid/"}),
        call("sandbox.webhooks"),
        call("sandbox.rotateWebhookSecret", webhook, overlapHours=0),
        call("sandbox.removeWebhook", webhook),
        call("sandbox.testWebhook", webhook),
        call("sandbox.revokeApiKey", old),
    )
    assert [one["field"] for one in unknown["fieldErrors"]] == ["url"]
    assert [one["webhookId"] for one in listed["result"]] == [webhook]
    assert changed["result"]["secret"].startswith("whsec_")
    assert removed["result"] == {"webhookId": webhook}
    # The webhook is no more, and the key is the one that signs.
    assert (none["status"], conflict["status"]) == (404, 409)
    revoked, request = sandbox.outcomes(
        call("sandbox.revokeApiKey", new), call("sandbox.getRequest", conflict["requestId"]), attempts=1
    )
    assert revoked["result"] == {"apiKeyPrefix": new}
    # It is there within two seconds.
    assert request["result"]["status"] == 409 if "result" in request else request["status"] == 404


# Errors


def test_an_error_has_its_parts(driven: DrivenClient, user: User) -> None:
    invalid, conflict, missing, minor = driven.outcomes(
        call("updateUser", user.external_id, {"email": "nobody", "nickname": "Ada"}),
        call("createUser", factories.user_body(externalId=user.external_id)),
        call("getUser", "nobody"),
        call("updateUser", user.external_id, {"dateOfBirth": "2020-01-01"}),
    )
    assert [(one["status"], one["error"], one["raised"]) for one in (invalid, conflict, missing, minor)] == [
        (400, "bad_request", "ApiError"),
        (409, "conflict", "ApiError"),
        (404, "not_found", "ApiError"),
        (422, "unprocessable_entity", "ApiError"),
    ]
    assert [(one["field"], one["code"]) for one in invalid["fieldErrors"]] == [
        ("email", "format"),
        ("nickname", "unknown"),
    ]
    assert "nickname: Unknown field." in invalid["text"]
    assert missing["message"] == "User not found."
    assert uuid.UUID(missing["requestId"])
    assert missing["requestId"] in missing["text"]
    assert not missing["isTemporary"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"\xff",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"error": null, "message": 7, "requestId": {}, "fieldErrors": null, "diagnosis": "Clock."}',
        b'{"fieldErrors": {"field": "city"}}',
        b'{"fieldErrors": [null, "city", []], "diagnosis": []}',
    ],
)
def test_the_response_of_another_program_is_an_error_too(through: DrivenClient, gateway: Gateway, body: bytes) -> None:
    gateway.service = lambda *_: Response(403, {"Content-Length": str(len(body))}, body)
    (outcome,) = through.outcomes(call("ping"))
    assert (outcome["raised"], outcome["status"], outcome["fieldErrors"]) == ("ApiError", 403, [])
    assert outcome["text"] == "403: The response is not the service's."


def test_field_errors_have_their_parts_and_a_diagnosis_is_shown(through: DrivenClient, gateway: Gateway) -> None:
    body = b'{"message": "No.", "fieldErrors": [{"field": "a"}], "diagnosis": {"message": "Clock."}}'
    gateway.service = lambda *_: Response(401, {"Content-Length": str(len(body))}, body)
    (outcome,) = through.outcomes(call("ping"))
    assert outcome["fieldErrors"] == [{"field": "a", "message": "", "code": ""}]
    assert outcome["text"].endswith("No. a:  Clock.")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null"])
def test_a_success_that_is_not_the_services_is_a_lost_response(
    through: DrivenClient, gateway: Gateway, user: User, body: bytes
) -> None:
    service, damaged = gateway.service, [Response(200, {"Content-Length": str(len(body))}, body)]
    gateway.service = lambda *request: damaged.pop() if damaged else service(*request)
    (outcome,) = through.outcomes(call("updateUser", user.external_id, CHANGES), attempts=1)
    assert (outcome["raised"], outcome["isTemporary"]) == ("NoResponseError", True)
    damaged.append(Response(200, {"Content-Length": str(len(body))}, body))
    (changed,) = through.results(call("updateUser", user.external_id, CHANGES))
    assert changed["externalId"] == user.external_id
    assert gateway.seen[1]["idempotency-key"] == gateway.seen[2]["idempotency-key"]


def test_a_response_has_its_request_id_whether_it_is_a_replay_and_the_rate_limit(
    driven: DrivenClient, user: User
) -> None:
    key = str(uuid.uuid4())
    first, again, refused = driven.outcomes(
        call("updateUser", user.external_id, CHANGES, idempotencyKey=key),
        call("updateUser", user.external_id, CHANGES, idempotencyKey=key),
        call("getUser", "nobody"),
    )
    responses = [one["response"] for one in (first, again, refused)]
    assert [one["replayed"] for one in responses] == [False, True, False]
    assert len({uuid.UUID(one["requestId"]) for one in responses}) == 3
    assert refused["requestId"] == responses[2]["requestId"]
    limits = [one["rateLimit"] for one in responses]
    assert limits[0]["limit"] > limits[0]["remaining"] > limits[2]["remaining"]
    assert 0 < limits[0]["resetSeconds"] <= 60


def test_a_target_that_cannot_be_signed_is_refused_without_a_request(through: DrivenClient, gateway: Gateway) -> None:
    (outcome,) = through.outcomes(call("request", "GET", "/v1/users/caf%E9"))
    assert outcome["raised"] in {"UnicodeDecodeError", "URIError"}
    assert gateway.seen == []


# Retries


@pytest.mark.parametrize("fault", ["lost", "cut"])
def test_a_write_whose_response_is_lost_takes_effect_once(
    through: DrivenClient, gateway: Gateway, user: User, fault: Any
) -> None:
    gateway.faults = [fault, fault]
    (changed,) = through.results(call("updateUser", user.external_id, CHANGES))
    keys = {headers["idempotency-key"] for headers in gateway.seen}
    assert (changed["externalId"], len(gateway.seen), len(keys)) == (user.external_id, 3, 1)
    assert len({headers["x-request-signature"] for headers in gateway.seen}) == 3
    cities = UserEvent.objects.filter(pgh_obj=user).order_by("pgh_id").values_list("city", flat=True)
    assert list(cities) == ["Toronto", "Ottawa"]


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_temporary_failure_is_waited_out(through: DrivenClient, gateway: Gateway, user: User, status: Any) -> None:
    gateway.faults, gateway.retry_after = [status, status], 1
    through.results(call("updateUser", user.external_id, CHANGES))
    first, second, third = gateway.seen_at
    assert second - first >= 1
    assert third - second >= 1


def test_a_retry_after_may_be_a_date(through: DrivenClient, gateway: Gateway) -> None:
    gateway.faults, gateway.retry_after = [503], format_datetime(datetime.now(UTC) + timedelta(seconds=4), usegmt=True)
    date = time.monotonic() + 3
    through.results(call("ping"))
    first, second = gateway.seen_at
    assert second >= date > first


def test_responses_and_retries_are_logged(through: DrivenClient, gateway: Gateway) -> None:
    gateway.faults, gateway.retry_after = [503], 0
    (outcome,) = through.outcomes(call("ping"))
    failed, retry, done = outcome["log"]
    assert failed.startswith("GET /v1/ping: 503, ")
    assert retry == "GET /v1/ping is retried in 0.0 s: 503 internal_error: A bad day. (request none)"
    assert done.startswith("GET /v1/ping: 200, ")


def test_attempts_are_bounded(through: DrivenClient, gateway: Gateway) -> None:
    gateway.faults, gateway.retry_after = [503] * 9, 0
    (outcome,) = through.outcomes(call("ping"), attempts=4)
    assert (outcome["status"], outcome["isTemporary"], len(gateway.seen)) == (503, True, 4)


def test_a_longer_retry_after_is_not_waited_for(through: DrivenClient, gateway: Gateway) -> None:
    gateway.faults, gateway.retry_after = [429], 3600
    (outcome,) = through.outcomes(call("ping"))
    assert (outcome["status"], len(gateway.seen)) == (429, 1)


def test_a_refusal_is_not_retried(through: DrivenClient, gateway: Gateway) -> None:
    through.outcomes(call("getUser", "nobody"))
    assert len(gateway.seen) == 1


def test_a_write_without_a_key_is_not_retried(through: DrivenClient, gateway: Gateway, user: User) -> None:
    gateway.faults = ["lost"]
    path = f"/v1/users/{user.external_id}"
    (outcome,) = through.outcomes(call("request", "PATCH", path, CHANGES, idempotencyKey=""))
    assert (outcome["raised"], len(gateway.seen)) == ("NoResponseError", 1)
    assert "idempotency-key" not in gateway.seen[0]


def test_a_redirect_is_an_error(through: DrivenClient, gateway: Gateway) -> None:
    gateway.faults = [302]
    (outcome,) = through.outcomes(call("ping"))
    assert (outcome["status"], len(gateway.seen)) == (302, 1)


def test_a_response_that_does_not_come_in_time_is_none(sandbox: DrivenClient) -> None:
    # The service waits for 5 seconds.
    slow = call("request", "GET", "/v1/ping", headers={"X-Sandbox-Fault": "slow"})
    outcomes = list[Any]()

    def has_no_response() -> bool:
        outcomes.extend(sandbox.outcomes(slow, attempts=1, timeout=0.5))
        return bool(outcomes[-1]["raised"] == "NoResponseError")

    # The service is slow for few at once: those of other clients' tests may still be.
    wait_until(has_no_response)
    assert outcomes[-1]["isTemporary"]
    assert {one["status"] for one in outcomes[:-1]} <= {503}


@pytest.mark.parametrize("part", ["head", "body"])
def test_a_response_that_comes_byte_by_byte_ends_at_the_timeout(
    driven: DrivenClient, keep_alive: KeepAlive, part: Any
) -> None:
    keep_alive.drips = part
    (outcome,) = driven.outcomes(call("ping"), attempts=1, timeout=1, settings=keep_alive.settings)
    assert (outcome["raised"], outcome["isTemporary"]) == ("NoResponseError", True)


def test_the_sandbox_rehearses_a_lost_response(sandbox: DrivenClient) -> None:
    key, fault = str(uuid.uuid4()), {"X-Sandbox-Fault": "lostAnswer"}
    body = factories.user_body(externalId="cust-1001")
    lost, write, again, limited = sandbox.outcomes(
        call("request", "POST", "/v1/users", body, idempotencyKey=key, headers=fault),
        call("getIdempotencyKey", key),
        call("createUser", body, idempotencyKey=key),
        call("request", "GET", "/v1/ping", headers={"X-Sandbox-Fault": "tooManyRequests"}),
        attempts=2,
    )
    assert lost["raised"] == "NoResponseError"
    assert write["result"]["status"] == 201
    assert again["result"]["externalId"] == "cust-1001"
    assert (limited["status"], limited["isTemporary"]) == (429, True)


# Connections


def test_a_connection_is_used_again(driven: DrivenClient, keep_alive: KeepAlive) -> None:
    driven.results(*[call("ping")] * 5, settings=keep_alive.settings)
    # Node.js may send the second request before it has put the first connection aside.
    assert (len(keep_alive.peers), len(set(keep_alive.peers)) <= 2) == (5, True)


def test_a_connection_that_the_service_closed_is_replaced(driven: DrivenClient, keep_alive: KeepAlive) -> None:
    keep_alive.closes = True
    driven.results(*[call("ping")] * 3, settings=keep_alive.settings)
    assert len(set(keep_alive.peers)) == 3


def test_requests_name_the_package_and_its_version(driven: DrivenClient, keep_alive: KeepAlive) -> None:
    driven.results(call("ping"), settings=keep_alive.settings)
    [user_agent] = keep_alive.user_agents
    language = "Node.js" if driven.language is NODE else "Python"
    assert re.fullmatch(rf"partner-service-interface-client/{psi.__version__} \({language} [\d.]+\)", user_agent)


def test_an_authority_of_the_environment_is_trusted(
    driven: DrivenClient, tls_server: str, authority: trustme.CA, tmp_path: Path
) -> None:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    variables = dict.fromkeys(("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"), str(tmp_path / "ca.pem"))
    (outcome,) = driven.outcomes(call("ping"), settings={"PSI_BASE_URL": tls_server} | variables)
    assert (outcome["raised"], outcome["status"]) == ("ApiError", 501)


def test_a_proxy_of_the_environment_is_used(through: DrivenClient, gateway: Gateway) -> None:
    if through.language is NODE:
        pytest.skip("Node.js has such variables from version 24 on")
    proxy = f"http://ada:p%40ss@127.0.0.1:{gateway.server_port}"
    settings = {"PSI_BASE_URL": "http://partners.invalid/gateway", "HTTP_PROXY": proxy}
    (ping,) = through.results(call("ping"), settings=settings)
    assert ping["mode"] == "live"
    assert gateway.seen[0]["host"] == "partners.invalid"
    assert gateway.seen[0]["proxy-authorization"] == f"Basic {base64.b64encode(b'ada:p@ss').decode()}"
    (outcome,) = through.outcomes(call("ping"), settings=settings | {"NO_PROXY": "partners.invalid"})
    assert outcome["text"] == "The host partners.invalid is unknown."


def test_tls_goes_through_a_proxy_of_the_environment(
    driven: DrivenClient, tls_server: str, authority: trustme.CA, tunnel: Tunnel, tmp_path: Path
) -> None:
    if driven.language is NODE:
        pytest.skip("Node.js has such variables from version 24 on")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    proxy = f"http://ada:p%40ss@127.0.0.1:{tunnel.server_port}"
    settings = {"PSI_BASE_URL": tls_server, "HTTPS_PROXY": proxy, "SSL_CERT_FILE": str(tmp_path / "ca.pem")}
    (outcome,) = driven.outcomes(call("ping"), settings=settings)
    assert (outcome["raised"], outcome["status"]) == ("ApiError", 501)
    credentials = f"Basic {base64.b64encode(b'ada:p@ss').decode()}"
    assert tunnel.seen == [(tls_server.removeprefix("https://"), credentials)]


def test_a_proxy_that_wants_credentials_is_told_at_once(through: DrivenClient, gateway: Gateway, user: User) -> None:
    gateway.faults = [407, 407]
    outcomes = through.outcomes(
        call("updateUser", user.external_id, CHANGES), call("send", "GET", "/v1/ping"), call("ping")
    )
    assert [(one["raised"], one["isTemporary"]) for one in outcomes[:2]] == [("ConfigurationError", False)] * 2
    assert outcomes[0]["text"].startswith("The proxy wants credentials (407): ")
    assert len(gateway.seen) == 3


def test_a_tunnel_that_wants_credentials_is_told_at_once(driven: DrivenClient, tls_server: str, tunnel: Tunnel) -> None:
    if driven.language is NODE:
        pytest.skip("Node.js has such variables from version 24 on")
    tunnel.wants_credentials = True
    settings = {"PSI_BASE_URL": tls_server, "HTTPS_PROXY": f"http://127.0.0.1:{tunnel.server_port}"}
    (outcome,) = driven.outcomes(call("createUser", {}), settings=settings)
    assert (outcome["raised"], outcome["isTemporary"], len(tunnel.seen)) == ("ConfigurationError", False, 1)
    assert outcome["text"].startswith("The proxy wants credentials (407): ")


# Events


def test_events_have_the_cursor_to_store(through: DrivenClient, gateway: Gateway, user: User) -> None:
    factories.decide(user, Status.ACTIVE)
    factories.add_documents(user, [factories.NOON] * 4)
    place_events()
    last = feed.cursor_of(EventFeed.objects.get(partner=user.partner_id).last_position)
    (seen,) = through.results(call("events", None, limit=2))
    assert [one["event"]["type"] for one in seen] == ["user.statusChanged", *["user.documentPublished"] * 4]
    cursors = [one["cursor"] for one in seen]
    # Within a page that of the page, so that a crash repeats events and loses none.
    assert cursors[0] is None
    assert cursors[1] == cursors[2]
    assert (len(set(cursors)), cursors[-1]) == (4, last)
    rest, nothing = through.results(call("events", cursors[1]), call("events", last))
    assert [one["event"] for one in rest] == [one["event"] for one in seen[2:]]
    assert nothing == []


def test_a_cursor_that_is_refused_is_named(driven: DrivenClient) -> None:
    (outcome,) = driven.outcomes(call("events", "none"))
    assert [one["field"] for one in outcome["fieldErrors"]] == ["cursor"]


# Webhooks

BODY = '{"eventId":"0d6f2f6a-8a53-4c3e-9b0e-3f2d6a1c7b95","type":"user.renamed","data":{"externalId":"cust-Zoë"}}'
OLD, NEW, OTHER = (f"whsec_{base64.b64encode(bytes([number]) * 32).decode()}" for number in range(3))


def headers_of(*under: str, body: str = BODY, age: int = 0) -> dict[str, str]:
    """As the service sends them: a signature under each secret."""
    at = datetime.now(UTC) - timedelta(seconds=age)
    signatures = [Webhook(secret).sign("message", at, body) for secret in under]
    time = str(int(at.timestamp()))
    return {"webhook-id": "message", "Webhook-Timestamp": time, "webhook-signature": " ".join(signatures)}


def test_a_webhook_is_verified_under_any_of_the_secrets(driven: DrivenClient) -> None:
    events = driven.results(
        call("verifyWebhook", BODY, headers_of(OLD), [OLD]),
        call("verifyWebhook", BODY, headers_of(OLD, NEW), [NEW]),
        call("verifyWebhook", BODY, headers_of(NEW, OLD), [OTHER, OLD]),
        call("verifyWebhook", BODY, headers_of(OLD, age=290), [OLD]),
        call("verifyWebhook", BODY, headers_of(OLD, age=-290), [OLD]),
        call("verifyWebhook", BODY, headers_of(OLD, age=1000), [OLD], tolerance=1100),
    )
    assert {event["data"]["externalId"] for event in events} == {"cust-Zoë"}


def test_a_webhook_that_is_not_signed_so_is_refused(driven: DrivenClient) -> None:
    valid = headers_of(OLD)
    signature = valid["webhook-signature"]
    refused = [
        (BODY.replace("renamed", "closed"), valid, [OLD]),
        (BODY, valid, [NEW]),
        (BODY, valid, []),
        (BODY, headers_of(OLD, age=310), [OLD]),
        (BODY, headers_of(OLD, age=-310), [OLD]),
        (BODY, valid | {"webhook-id": "another"}, [OLD]),
        (BODY, valid | {"Webhook-Timestamp": "now"}, [OLD]),
        (BODY, valid | {"webhook-signature": signature.replace("v1,", "v2,")}, [OLD]),
        (BODY, valid | {"webhook-signature": signature.removeprefix("v1,")}, [OLD]),
        (BODY, valid | {"webhook-signature": ""}, [OLD]),
        (BODY, valid | {"webhook-signature": "v1,é"}, [OLD]),
        (BODY, {"webhook-id": "message"}, [OLD]),
        ("[", headers_of(OLD, body="["), [OLD]),
    ]
    outcomes = driven.outcomes(*(call("verifyWebhook", *arguments) for arguments in refused))
    assert [one.get("raised") for one in outcomes] == ["WebhookError"] * len(refused)


def test_a_malformed_secret_is_no_webhook_error(driven: DrivenClient) -> None:
    (outcome,) = driven.outcomes(call("verifyWebhook", BODY, headers_of(OLD), ["whsec_!"]))
    assert outcome["raised"] in {"ValueError", "TypeError"}


# Configuration


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"PSI_API_KEY": ""}, "PSI_API_KEY is not set"),
        ({"PSI_SECRET": " \n"}, "PSI_SECRET is not set"),
        ({"PSI_BASE_URL": "partners.example"}, "PSI_BASE_URL is no URL such as https://partners.example"),
        ({"PSI_BASE_URL": "https://partners.example:99999"}, "PSI_BASE_URL is no URL such as https://partners.example"),
        ({"PSI_API_KEY": "psi_test_key_Ab\u00e9"}, "PSI_API_KEY has characters that do not belong there"),
        ({"PSI_BASE_URL": "https://partners.invalid"}, "The host partners.invalid is unknown."),
    ],
)
def test_a_wrong_setting_is_named_without_its_value_and_not_retried(
    driven: DrivenClient, settings: dict[str, str], text: str
) -> None:
    (outcome,) = driven.outcomes(call("ping"), settings=settings)
    assert (outcome["raised"], outcome["text"], outcome["isTemporary"]) == ("ConfigurationError", text, False)


def test_a_certificate_that_is_not_trusted_is_told_at_once(driven: DrivenClient, tls_server: str) -> None:
    (outcome,) = driven.outcomes(call("ping"), settings={"PSI_BASE_URL": tls_server})
    assert (outcome["raised"], outcome["isTemporary"]) == ("ConfigurationError", False)
    assert outcome["text"].startswith("The certificate of localhost is not trusted: ")


def test_what_copying_leaves_around_key_and_secret_is_stripped(driven: DrivenClient) -> None:
    access = driven.access
    settings = {"PSI_API_KEY": f" {access.api_key}\r\n", "PSI_SECRET": f"\ufeff{access.secret}\t\n"}
    (ping,) = driven.results(call("ping"), settings=settings)
    assert ping["mode"] == "live"


def test_methods_have_any_letter_case_and_bodies_any_form(driven: DrivenClient, user: User) -> None:
    path = f"/v1/users/{user.external_id}"
    got, *changed = driven.results(
        call("request", "get", path),
        call("request", "patch", path, CHANGES),
        call("request", "patch", path, json.dumps(CHANGES)),
        call("send", "patch", path, CHANGES),
    )
    assert [one["status"] for one in (got, *changed)] == [200] * 4
