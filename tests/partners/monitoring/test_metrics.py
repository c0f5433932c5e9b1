"""Metrics: of the requests that the process answered, and of the database."""

import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta

import psycopg
import pytest
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from pytest_django.fixtures import Settings

from core.database import serving_role
from events.metrics import feeds
from events.webhooks.delivering import APPLICATION_NAME
from partners.authentication.keys import issue
from partners.models import Mode, Partner
from partners.monitoring.metrics import RedisCollector, keys
from tests import factories
from tests.conftest import database_url
from tests.support.client import PartnerClient
from tests.support.watched import Watched, wait_until, watched

PING = "/v1/ping"


@pytest.fixture(scope="module")
def service(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched(tmp_path_factory.mktemp("log") / "log") as service:
        yield service


@pytest.fixture
def api(committed_partner: Partner, service: Watched) -> PartnerClient:
    return factories.client_of(committed_partner, service.transport)


def exposed(service: Watched) -> list[Sample]:
    """All samples, once the database has answered in time: what it knows is left out otherwise."""
    samples: list[Sample] = []

    def is_whole() -> bool:
        families = text_string_to_metric_families(service.monitored("/metrics").body.decode())
        samples[:] = [sample for family in families for sample in family.samples]
        return any(sample.name == "psi_database_up" and sample.value == 1 for sample in samples)

    wait_until(is_whole)
    return samples


def total(service: Watched, name: str, **labels: str) -> float:
    """The sum of a metric's samples that have these labels."""
    samples = [sample for sample in exposed(service) if sample.name == name]
    return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


def test_requests_are_counted_by_partner_route_and_status(
    service: Watched, api: PartnerClient, committed_partner: Partner
) -> None:
    before = total(service, "psi_request_seconds_count", route="v1/ping", method="GET")
    statuses = [api.get(PING).status for _ in range(40)]
    statuses += [api.get("/v1/users/nobody").status, api.post("/v1/users", factories.user_body()).status]
    assert statuses == [200] * 40 + [404, 201]
    partner = committed_partner.slug
    counted = {
        (route, status): total(service, "psi_requests_total", partner=partner, route=route, status=status)
        for route, status in (("v1/ping", "200"), ("v1/users/<str:external_id>", "404"), ("v1/users", "201"))
    }
    assert list(counted.values()) == [40, 1, 1]
    assert total(service, "psi_requests_total", partner=partner) == 42
    assert total(service, "psi_request_seconds_count", route="v1/ping", method="GET") - before == 40
    assert total(service, "psi_request_seconds_bucket", route="v1/ping", le="+Inf") == before + 40


def test_a_replay_is_counted_and_the_first_response_is_not(
    service: Watched, api: PartnerClient, committed_partner: Partner
) -> None:
    body, key = factories.user_body(), str(uuid.uuid4())
    assert [api.post("/v1/users", body, key=key).status for _ in range(3)] == [201] * 3
    assert total(service, "psi_idempotent_replays_total", partner=committed_partner.slug) == 2


def test_throttled_requests_are_counted(service: Watched, api: PartnerClient, committed_partner: Partner) -> None:
    Partner.objects.filter(pk=committed_partner.pk).update(rate_limit="1/hour")
    statuses = [api.get(PING).status for _ in range(10)]
    assert total(service, "psi_throttled_total", partner=committed_partner.slug) == statuses.count(429) >= 8


def test_methods_and_paths_that_anybody_makes_up_are_one(service: Watched, api: PartnerClient) -> None:
    for number in range(20):
        service.transport(f"METHOD{number}", f"/v1/nowhere/{number}", {}, b"")
    exposed = service.monitored("/metrics").body
    assert b"METHOD" not in exposed
    assert b"nowhere" not in exposed
    assert total(service, "psi_requests_total", method="other", status="404") == 20


def test_the_process_shows_its_memory_and_probes_leave_no_trace(service: Watched) -> None:
    counted = total(service, "psi_requests_total")
    for path in ("/livez", "/readyz", "/metrics"):
        assert service.monitored(path).status == 200
    assert total(service, "psi_requests_total") == counted
    assert total(service, "process_resident_memory_bytes") > 0
    assert not [line for line in service.lines() if line.get("route") in {"livez", "readyz", "metrics"}]


@pytest.mark.parametrize(("url", "values"), [("", []), ("redis://127.0.0.1:1/0", [0])])
def test_whether_redis_responds_is_shown_where_it_is_used(settings: Settings, url: str, values: list[float]) -> None:
    settings.REDIS_URL = url
    samples = [sample for family in RedisCollector().collect() for sample in family.samples]
    assert [(sample.name, sample.value) for sample in samples] == [("psi_redis_up", value) for value in values]


def test_whether_something_delivers_is_shown(committed_partner: Partner) -> None:
    # A transaction sees the sessions as they were when it first looked.
    with psycopg.connect(database_url(serving_role.SERVING), autocommit=True) as database:
        [deliverers] = [one for one in feeds(database) if one.name == "psi_event_deliverers"]
        before = deliverers.samples[0].value
        with psycopg.connect(database_url(serving_role.SERVING), application_name=APPLICATION_NAME):
            [deliverers] = [one for one in feeds(database) if one.name == "psi_event_deliverers"]
        assert deliverers.samples[0].value == before + 1


def test_the_end_of_a_live_partners_last_key_is_shown(committed_partner: Partner) -> None:
    slug = committed_partner.slug
    sandbox = factories.PartnerFactory.create(mode=Mode.SANDBOX)
    soon, later = timezone.now() + timedelta(days=3), timezone.now() + timedelta(days=30)
    forever = issue(partner=committed_partner).record
    first, _ = (issue(partner=partner, expires_at=soon).record for partner in (committed_partner, sandbox))
    assert slug not in ends()
    forever.revoked_at = timezone.now()
    forever.save(update_fields=["revoked_at"])
    assert ends()[slug] == soon
    assert sandbox.slug not in ends()
    second = issue(partner=committed_partner, expires_at=later).record
    assert ends()[slug] == later
    # One that is revoked is none, and one that has ended is still named.
    second.revoked_at, first.expires_at = timezone.now(), timezone.now()
    second.save(update_fields=["revoked_at"])
    first.save(update_fields=["expires_at"])
    assert ends()[slug] == first.expires_at
    committed_partner.enabled = False
    committed_partner.save(update_fields=["enabled"])
    assert slug not in ends()


def ends() -> dict[str, datetime]:
    with psycopg.connect(database_url(serving_role.SERVING)) as database:
        [metric] = keys(database)
    return {
        sample.labels["partner"]: datetime.fromtimestamp(sample.value, tz=timezone.get_default_timezone())
        for sample in metric.samples
    }
