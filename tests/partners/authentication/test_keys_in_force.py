"""Revoked keys, disabled partners and new limits take effect with the next request."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import psycopg
import pytest
from django.db import OperationalError, connection
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone
from prometheus_client import REGISTRY
from psycopg.pq import TransactionStatus
from pytest_django.fixtures import Settings

from core.database import serving_role
from core.formats import Rate
from partners.api import throttling
from partners.api.errors import UnauthorizedError
from partners.authentication import keys, signature_authentication
from partners.authentication.signature_authentication import AuthenticationFailure
from partners.models import ApiKey, IdempotencyRecord, Partner, UsedSignature
from tests import factories
from tests.conftest import database_url
from tests.support.client import PartnerClient, Response, in_process
from tests.support.database import undone
from tests.support.documents import LONG, add_document, folder
from tests.support.metrics import totals
from tests.support.responses import assert_error
from users.api import views
from users.models import User, UserEvent

__all__ = ("folder",)

ADA = "/v1/users/ada"


class Known(NamedTuple):
    """A key that this process has served before, and what there is to ask for with it."""

    api: PartnerClient
    partner: Partner
    document: str
    used_key: str


pytestmark = pytest.mark.usefixtures("fresh_counter")


@pytest.fixture
def committed(committed_partner: Partner, folder: Path) -> Known:
    """Outside of a transaction of the test's."""
    return serve_before(factories.client_of(committed_partner, in_process), committed_partner)


@pytest.fixture
def known(api: PartnerClient, partner: Partner, folder: Path) -> Known:
    return serve_before(api, partner)


def serve_before(api: PartnerClient, partner: Partner) -> Known:
    created = api.post("/v1/users", factories.user_body(externalId="ada"))
    assert created.status == 201
    api.post("/v1/users", factories.user_body(externalId="empty"))
    ada, used_key = User.objects.get(pk=created.json()["userId"]), str(uuid4())
    factories.add_conversions(ada, [timezone.now()] * 3)
    document = add_document(ada, LONG)
    assert api.patch(ADA, {"city": "Ottawa"}, key=used_key).status == 200
    return Known(api, partner, f"{ADA}/documents/{document.document_id}", used_key)


REQUESTS: dict[str, tuple[int, Callable[[Known], Response]]] = {
    "ping": (200, lambda known: known.api.get("/v1/ping")),
    "user": (200, lambda known: known.api.get(ADA)),
    "no such user": (404, lambda known: known.api.get("/v1/users/nobody")),
    "name that is none": (400, lambda known: known.api.get("/v1/users/%20")),
    "list": (200, lambda known: known.api.get(f"{ADA}/transactions")),
    "list of nothing": (200, lambda known: known.api.get("/v1/users/empty/transactions")),
    "list of nobody": (404, lambda known: known.api.get("/v1/users/nobody/transactions")),
    "list, bad parameter": (400, lambda known: known.api.get(f"{ADA}/transactions?limit=0")),
    "documents": (200, lambda known: known.api.get(f"{ADA}/documents")),
    "document": (200, lambda known: known.api.get(known.document)),
    "no such document": (404, lambda known: known.api.get(f"{ADA}/documents/{uuid4()}")),
    "create": (201, lambda known: known.api.post("/v1/users", factories.user_body())),
    "create under a key": (201, lambda known: known.api.post("/v1/users", factories.user_body(), key=str(uuid4()))),
    "create what is there": (409, lambda known: known.api.post("/v1/users", factories.user_body(externalId="ada"))),
    "create, bad body": (400, lambda known: known.api.post("/v1/users", {}, key=str(uuid4()))),
    "create, bad key": (400, lambda known: known.api.post("/v1/users", factories.user_body(), key="1")),
    "create, not JSON": (
        415,
        lambda known: known.api.post("/v1/users", {}, headers={"Content-Type": "text/plain"}),
    ),
    "update": (200, lambda known: known.api.patch(ADA, {"city": "Regina"})),
    "update under a key": (200, lambda known: known.api.patch(ADA, {"city": "Regina"}, key=str(uuid4()))),
    "update of nothing": (200, lambda known: known.api.patch(ADA, {})),
    "update of nobody": (404, lambda known: known.api.patch("/v1/users/nobody", {"city": "Regina"})),
    "replay": (200, lambda known: known.api.patch(ADA, {"city": "Ottawa"}, key=known.used_key)),
    "misused key": (400, lambda known: known.api.patch(ADA, {"city": "Regina"}, key=known.used_key)),
}

WITHDRAWN: dict[str, Callable[[Partner], object]] = {
    "revoked": lambda partner: keys.revoke(partner.api_keys.get()),
    "expired": lambda partner: ApiKey.objects.filter(partner=partner).update(expires_at=F("created_at")),
    "disabled": lambda partner: Partner.objects.filter(pk=partner.pk).update(enabled=False),
}


def stored(partner: Partner) -> tuple[int, ...]:
    of_partner = {"partner": partner}
    tables = (User, IdempotencyRecord, UsedSignature)
    return (*(table.objects.filter(**of_partner).count() for table in tables), UserEvent.objects.count())


def counted_in_window() -> int:
    """Requests counted against the limit."""
    counter = throttling._counter()
    assert isinstance(counter, throttling.MemoryCounter)
    return sum(count for _, count, _ in counter._windows.values())


def counted(partner: Partner) -> tuple[int, Counter[str], Counter[str]]:
    """Against the limit; by status; and refusals by cause."""
    by_status = totals("psi_requests_total", "status", partner=partner.slug)
    return counted_in_window(), by_status, totals("psi_unauthorized_total", "cause")


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, TransactionStatus]]:
    """Each request that is counted, with the state of the connection: in a transaction, and what it does.

    The counter may be Redis, and nothing waits for Redis while rows are locked.
    """
    hit, states = throttling.MemoryCounter.hit, []

    def watched(counter: throttling.MemoryCounter, rate: Rate, partner_id: int) -> tuple[int, float]:
        states.append((connection.in_atomic_block, connection.connection.pgconn.transaction_status))
        return hit(counter, rate, partner_id)

    monkeypatch.setattr(throttling.MemoryCounter, "hit", watched)
    return states


def test_a_request_is_counted_once_by_the_new_limit_while_no_transaction_is_open(
    committed: Known, counting: list[tuple[bool, TransactionStatus]], subtests: pytest.Subtests
) -> None:
    """The use of the key is noted too, if that was not done within some minutes."""
    of_partner, interval = ApiKey.objects.filter(partner=committed.partner), signature_authentication.LAST_USED_INTERVAL
    for limit, (name, (status, send)) in enumerate(REQUESTS.items(), start=1_000):
        with subtests.test(name):
            Partner.objects.filter(pk=committed.partner.pk).update(rate_limit=f"{limit}/hour")
            of_partner.update(last_used_at=Now() - interval * 2)
            _in_window, answered, refused = counted(committed.partner)
            counting.clear()
            response = send(committed)
            assert (response.status, response.header("RateLimit") is not None) == (status, True)
            assert response.header("RateLimit-Policy") == f'"default";q={limit};w=3600'
            assert counting == [(False, TransactionStatus.IDLE)]
            # With a new limit a new window begins.
            assert counted(committed.partner) == (1, answered + Counter({str(status): 1}), refused)
            assert of_partner.filter(last_used_at__gt=Now() - interval).exists()


def test_a_key_that_is_not_in_force_is_refused_uncounted_and_nothing_happens(
    known: Known, counting: list[tuple[bool, TransactionStatus]]
) -> None:
    before, (in_window, answered, refused) = stored(known.partner), counted(known.partner)
    keys.revoke(known.partner.api_keys.get())
    counting.clear()
    responses = {name: send(known) for name, (_status, send) in REQUESTS.items()}
    seen = {
        name: (assert_error(response, 401)["message"], response.header("RateLimit"))
        for name, response in responses.items()
    }
    assert seen == dict.fromkeys(REQUESTS, (UnauthorizedError.default_detail, None))
    assert (stored(known.partner), counting) == (before, [])
    assert counted(known.partner) == (
        in_window,
        answered + Counter({"401": len(REQUESTS)}),
        refused + Counter({AuthenticationFailure.NOT_IN_FORCE.value: len(REQUESTS)}),
    )


@pytest.mark.parametrize("withdraw", WITHDRAWN.values(), ids=WITHDRAWN)
def test_the_next_request_is_refused_and_those_after_it(known: Known, withdraw: Callable[[Partner], object]) -> None:
    before = stored(known.partner)
    withdraw(known.partner)
    for _ in range(2):
        assert {name: REQUESTS[name][1](known).status for name in ("list", "update")} == {"list": 401, "update": 401}
    assert stored(known.partner) == before


def test_over_the_limit_nothing_happens(known: Known) -> None:
    Partner.objects.filter(pk=known.partner.pk).update(rate_limit="1/hour")
    assert known.api.get("/v1/ping").status == 200
    before = stored(known.partner)
    assert {name: send(known).status for name, (_, send) in REQUESTS.items()} == dict.fromkeys(REQUESTS, 429)
    assert stored(known.partner) == before


@pytest.mark.parametrize(("failure", "status"), [(RuntimeError, 500), (OperationalError, 503)])
def test_a_failure_of_ours_is_counted_and_a_key_that_is_not_in_force_is_refused_before_it(
    known: Known, failure: type[Exception], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(views, "found", fail)
    in_window, answered, refused = counted(known.partner)
    response = known.api.get(ADA)
    assert (response.status, response.header("RateLimit") is not None) == (status, True)
    assert counted(known.partner) == (in_window + 1, answered + Counter({str(status): 1}), refused)
    keys.revoke(known.partner.api_keys.get())
    assert known.api.get(ADA).status == 401


@pytest.fixture
def cut(committed_partner: Partner) -> PartnerClient:
    """A client whose process has just lost its connection to the database, unnoticed."""
    client = factories.client_of(committed_partner, in_process)
    assert client.post("/v1/users", factories.user_body(externalId="ada")).status == 201
    backend = connection.connection.info.backend_pid
    with psycopg.connect(database_url(serving_role.SERVING), autocommit=True) as other:
        assert other.execute("SELECT pg_terminate_backend(%s, 60000)", [backend]).fetchone() == (True,)
    return client


def test_a_connection_lost_before_the_first_statement_is_replaced(cut: PartnerClient) -> None:
    response = cut.get(ADA)
    assert (response.status, response.header("RateLimit") is not None) == (200, True)


@pytest.mark.parametrize("key", [None, str(uuid4())], ids=["no key", "idempotency key"])
def test_a_write_whose_connection_was_lost_before_it_takes_effect_once(
    cut: PartnerClient, committed_partner: Partner, key: str | None
) -> None:
    in_window = counted_in_window()
    assert cut.post("/v1/users", factories.user_body(externalId="bob"), key=key).status == 201
    assert counted_in_window() == in_window + 1
    assert User.objects.filter(partner=committed_partner, external_id="bob").count() == 1
    assert cut.patch("/v1/users/bob", {"city": "Regina"}, key=key and str(uuid4())).status == 200


# A secret that no present encryption key decrypts is the service's fault, not the partner's: docs/operations.md

OTHER_KEY = "tests-only-another-0123456789-abcdefghijklm"


def undecryptable() -> float:
    return REGISTRY.get_sample_value("psi_undecryptable_secrets_total") or 0.0


@pytest.fixture
def lost(api: PartnerClient, partner: Partner) -> PartnerClient:
    """A client whose secret cannot be decrypted."""
    partner.api_keys.update(encrypted_secret="of a retired key", last_used_at=Now())
    return api


def test_a_key_in_force_is_answered_with_unavailable_and_one_line_of_the_log(
    lost: PartnerClient, partner: Partner, caplog: pytest.LogCaptureFixture
) -> None:
    before = undecryptable()
    response = lost.get("/v1/ping")
    assert_error(response, 503)
    assert undecryptable() == before + 1
    assert sum("cannot be decrypted" in record.getMessage() for record in caplog.records) == 1
    assert "unauthorized" not in caplog.text


def test_a_lost_secret_of_a_key_that_is_not_in_force_is_refused_like_any_other(
    lost: PartnerClient, partner: Partner
) -> None:
    for withdraw in WITHDRAWN.values():
        with undone():
            withdraw(partner)
            response = lost.get("/v1/ping")
            assert (response.status, response.json()["message"]) == (401, UnauthorizedError.default_detail)


def test_a_key_is_good_again_once_its_encryption_key_is_back(partner: Partner, settings: Settings) -> None:
    before = settings.SECRETS_ENCRYPTION_KEYS
    settings.SECRETS_ENCRYPTION_KEYS = [OTHER_KEY]
    api = factories.client_of(partner, in_process)
    settings.SECRETS_ENCRYPTION_KEYS = before
    assert api.get("/v1/ping").status == 503
    settings.SECRETS_ENCRYPTION_KEYS = [*before, OTHER_KEY]
    assert api.get("/v1/ping").status == 200


def test_a_process_remembers_known_keys_alone_and_so_many_at_most(
    partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whom it remembers, it reads for in one round trip; made-up keys would push the others out, or fill its memory."""
    remembered: dict[bytes, signature_authentication.Caller] = {}
    monkeypatch.setattr(signature_authentication, "_last_callers", remembered)
    monkeypatch.setattr(signature_authentication, "CACHE_SIZE", 2)
    clients = [factories.client_of(partner, in_process) for _ in range(3)]
    digests = [signature_authentication.digest(client.api_key) for client in clients]
    for client in clients[:2]:
        assert client.get("/v1/ping").status == 200
    assert_error(clients[0].get("/v1/ping", headers={"X-Api-Key": "psi_key_unknown"}), 401)
    assert remembered.keys() == {*digests[:2]}
    assert clients[2].get("/v1/ping").status == 200
    assert remembered.keys() == {digests[2]}
