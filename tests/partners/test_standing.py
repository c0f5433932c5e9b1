"""A process remembers who has a key, and takes nobody's word for it that the key is still in force."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import psycopg
import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from partners import keys, roles, sql, tallies, traffic, troubles
from partners.api import throttling
from partners.api.authentication import NOT_VALID
from partners.models import ApiKey, IdempotencyRecord, Partner, UsedSignature
from partners.rates import parse_rate
from partners.troubles import Cause
from tests import factories
from tests.answers import assert_error
from tests.client import PartnerClient, Response, in_process
from tests.conftest import database_url
from tests.documents import LONG, add_document, folder
from tests.timeouts import WAIT_SECONDS
from users import profile
from users.models import User, UserEvent

__all__ = ("folder",)

ADA = "/v1/users/ada"


class Known(NamedTuple):
    """A key that this process remembers, and what there is to ask for with it."""

    api: PartnerClient
    partner: Partner
    document: str
    kept_key: str


pytestmark = pytest.mark.usefixtures("fresh_counter")


@pytest.fixture
def known(api: PartnerClient, partner: Partner, folder: Path) -> Known:
    created = api.post("/v1/users", factories.user_body(externalId="ada"))
    assert created.status == 201
    api.post("/v1/users", factories.user_body(externalId="empty"))
    ada, kept_key = User.objects.get(pk=created.json()["userId"]), str(uuid4())
    factories.add_conversions(ada, [timezone.now()] * 3)
    document = add_document(ada, LONG)
    assert api.patch(ADA, {"city": "Ottawa"}, key=kept_key).status == 200
    assert keys.remembered(api.api_key) is not None
    return Known(api, partner, f"{ADA}/documents/{document.document_id}", kept_key)


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
    "kept answer": (200, lambda known: known.api.patch(ADA, {"city": "Ottawa"}, key=known.kept_key)),
    "misused key": (400, lambda known: known.api.patch(ADA, {"city": "Regina"}, key=known.kept_key)),
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


def counted(partner: Partner) -> tuple[int, dict[int, int], dict[Cause, int]]:
    """Against the limit, and as staff see it."""
    tallies.flush()
    in_window = sum(count for count, _ in throttling._counter()._windows.values())  # type: ignore[attr-defined]
    answered = traffic.of_partner(partner.pk, period=tallies.DAY).by_status
    refused = {trouble.cause: trouble.requests for trouble in troubles.of_partner(partner.pk)}
    return in_window, dict(answered), refused


@pytest.mark.parametrize(("status", "send"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_of_a_remembered_key_is_counted_once(
    known: Known, status: int, send: Callable[[Known], Response]
) -> None:
    in_window, answered, _ = counted(known.partner)
    answer = send(known)
    assert (answer.status, answer.header("RateLimit") is not None) == (status, True)
    assert counted(known.partner) == (in_window + 1, answered | {status: answered.get(status, 0) + 1}, {})


@pytest.mark.parametrize("withdraw", WITHDRAWN.values(), ids=WITHDRAWN)
@pytest.mark.parametrize("send", [send for _, send in REQUESTS.values()], ids=REQUESTS)
def test_a_remembered_key_that_is_not_in_force_is_refused_and_nothing_happens(
    known: Known, send: Callable[[Known], Response], withdraw: Callable[[Partner], object]
) -> None:
    withdraw(known.partner)
    before, (in_window, answered, _) = stored(known.partner), counted(known.partner)
    for refusals in (1, 2):
        answer = send(known)
        assert assert_error(answer, 401)["message"] == NOT_VALID
        assert answer.header("RateLimit") is None
        assert stored(known.partner) == before
        assert counted(known.partner) == (in_window, answered | {401: refusals}, {Cause.NOT_IN_FORCE: refusals})


@pytest.mark.parametrize("send", [send for _, send in REQUESTS.values()], ids=REQUESTS)
def test_a_new_limit_holds_from_the_next_request_on(known: Known, send: Callable[[Known], Response]) -> None:
    Partner.objects.filter(pk=known.partner.pk).update(rate_limit="7/hour")
    assert send(known).header("RateLimit-Policy") == '"default";q=7;w=3600'


@pytest.mark.parametrize("send", [send for _, send in REQUESTS.values()], ids=REQUESTS)
def test_over_the_limit_nothing_happens(known: Known, send: Callable[[Known], Response]) -> None:
    Partner.objects.filter(pk=known.partner.pk).update(rate_limit="1/hour")
    assert known.api.get("/v1/ping").status == 200
    before = stored(known.partner)
    for _ in range(2):
        assert send(known).status == 429
        assert stored(known.partner) == before


@pytest.mark.parametrize("send", [send for _, send in REQUESTS.values()], ids=REQUESTS)
def test_a_process_that_does_not_know_that_the_limit_is_used_up_undoes_what_it_did(
    known: Known, send: Callable[[Known], Response], monkeypatch: pytest.MonkeyPatch
) -> None:
    Partner.objects.filter(pk=known.partner.pk).update(rate_limit="1/hour")
    assert known.api.get("/v1/ping").status == 200
    monkeypatch.setattr(throttling, "is_used_up", lambda _caller: False)
    before = stored(known.partner)
    assert send(known).status == 429
    assert stored(known.partner) == before


@pytest.mark.parametrize("send", [send for _, send in REQUESTS.values()], ids=REQUESTS)
def test_the_use_of_a_key_is_noted_every_few_minutes(known: Known, send: Callable[[Known], Response]) -> None:
    of_partner = ApiKey.objects.filter(partner=known.partner)
    of_partner.update(last_used_at=Now() - keys.TOUCH_AFTER * 2)
    send(known)
    assert of_partner.filter(last_used_at__gt=Now() - keys.TOUCH_AFTER).exists()


@pytest.mark.parametrize(("failure", "status"), [(RuntimeError, 500), (OperationalError, 503)])
def test_what_fails_before_the_database_has_said_anything_is_counted_too(
    known: Known, failure: type[Exception], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise failure

    monkeypatch.setattr(profile, "find_user", fail)
    in_window, answered, _ = counted(known.partner)
    answer = known.api.get(ADA)
    assert (answer.status, answer.header("RateLimit") is not None) == (status, True)
    assert counted(known.partner) == (in_window + 1, answered | {status: 1}, {})
    keys.revoke(known.partner.api_keys.get())
    assert known.api.get(ADA).status == 401


def test_another_key_under_the_number_of_a_remembered_one_does_not_stand_for_it(known: Known) -> None:
    """As after a restore of the database to the time before the key was issued."""
    caller = keys.remembered(known.api.api_key)
    assert caller is not None
    keys._remembered[keys.digest("psi_key_of_the_past")] = replace(
        caller, key_digest=keys.digest("psi_key_of_the_past")
    )
    known.api.api_key = "psi_key_of_the_past"
    for _ in range(2):
        assert known.api.get(ADA).status == 401
    assert keys.remembered("psi_key_of_the_past") is None


@pytest.fixture
def cut(committed_partner: Partner, monkeypatch: pytest.MonkeyPatch) -> PartnerClient:
    """A client whose key is remembered, and whose connection to the database has just been lost unnoticed."""
    client = factories.client_of(committed_partner, in_process)
    assert client.post("/v1/users", factories.user_body(externalId="ada")).status == 201
    monkeypatch.setattr(sql, "is_well", lambda: True)
    backend = connection.connection.info.backend_pid
    with psycopg.connect(database_url(roles.SERVING), autocommit=True) as other:
        assert other.execute("SELECT pg_terminate_backend(%s, 60000)", [backend]).fetchone() == (True,)
    return client


def test_a_connection_that_was_idle_is_looked_at(committed_partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "FRESH_SECONDS", WAIT_SECONDS)
    assert factories.client_of(committed_partner, in_process).get("/v1/ping").status == 200
    backend = connection.connection.info.backend_pid
    with psycopg.connect(database_url(roles.SERVING), autocommit=True) as other:
        assert other.execute("SELECT pg_terminate_backend(%s, 60000)", [backend]).fetchone() == (True,)
    assert sql.is_well()
    sql._of_thread.answered_at -= sql.FRESH_SECONDS
    assert not sql.is_well()
    connection.close()  # the next test begins with a new one


def test_a_connection_lost_before_the_first_statement_is_replaced(cut: PartnerClient) -> None:
    answer = cut.get(ADA)
    assert (answer.status, answer.header("RateLimit") is not None) == (200, True)


@pytest.mark.parametrize("key", [None, str(uuid4())], ids=["no key", "idempotency key"])
def test_a_write_whose_connection_is_lost_before_its_claim_takes_effect_once(
    cut: PartnerClient, committed_partner: Partner, key: str | None
) -> None:
    before = throttling._counter().seen(parse_rate(settings.PARTNER_RATE_LIMIT), committed_partner.pk)[0]
    assert cut.post("/v1/users", factories.user_body(externalId="bob"), key=key).status == 201
    assert throttling._counter().seen(parse_rate(settings.PARTNER_RATE_LIMIT), committed_partner.pk)[0] == before + 1
    assert User.objects.filter(partner=committed_partner, external_id="bob").count() == 1
    assert cut.patch("/v1/users/bob", {"city": "Regina"}, key=key and str(uuid4())).status == 200


def test_only_keys_in_force_are_remembered(known: Known) -> None:
    keys.revoke(known.partner.api_keys.get())
    known.api.get("/v1/ping")
    assert keys.remembered(known.api.api_key) is None


def test_there_are_not_more_remembered_than_fit(known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "MOST_REMEMBERED", len(keys._remembered))
    another = factories.client_of(known.partner, known.api.transport)
    assert another.get("/v1/ping").status == 200
    assert list(keys._remembered) == [keys.digest(another.api_key)]
    assert known.api.get("/v1/ping").status == 200
