"""The log, the metrics and the readiness of a live service."""

import json
import secrets
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from pytest_django.fixtures import Settings

from core.database import serving_role
from events.monitoring import APPLICATION_NAME, feeds
from partners.authentication import keys
from partners.models import ApiKey, Mode, Partner
from partners.monitoring import health
from partners.monitoring.metrics import InstallationCollector, gauges
from tests import factories
from tests.conftest import database_url
from tests.support.client import PartnerClient, Response, in_process
from tests.support.watched import Watched, wait_until, watched

ADA = "ada"


@pytest.fixture(scope="module")
def service(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched(tmp_path_factory.mktemp("log") / "log") as service:
        yield service


@pytest.fixture
def api(committed_partner: Partner, service: Watched) -> PartnerClient:
    return factories.client_of(committed_partner, service.transport)


def line_of(service: Watched, response: Response) -> dict[str, Any]:
    """The one line of the request that was answered so."""
    told = [line for line in service.lines() if line.get("request_id") == response.header("X-Request-Id")]
    (line,) = [line for line in told if line["event"] == "request"]
    return line


def test_a_requests_log_line_has_partner_route_and_status(
    service: Watched, api: PartnerClient, committed_partner: Partner
) -> None:
    api.get("/v1/ping")
    line = line_of(service, api.get("/v1/ping"))
    assert line["timestamp"].endswith("Z")
    assert line["milliseconds"] >= line["sql_milliseconds"] > 0
    expected: dict[str, Any] = {
        "level": "info",
        "partner": committed_partner.slug,
        "key": keys.find(api.api_key).prefix,
    }
    expected |= {"method": "GET", "route": "v1/ping", "status": 200}
    assert {name: line[name] for name in expected} == expected


def test_the_log_line_of_an_invalid_request_says_what_was_wrong(service: Watched, api: PartnerClient) -> None:
    body = factories.user_body(email="ada", postalCode="1") | {"Ada Lovelace": 1}
    causes = line_of(service, api.post("/v1/users", body))["cause"].split(", ")
    assert sorted(causes) == ["email format", "postalCode format", "unknown"]
    assert line_of(service, api.post("/v1/users", b"{"))["cause"].startswith("The body is not valid JSON")
    assert line_of(service, api.get("/v1/users/nobody"))["cause"] == "User not found."
    assert line_of(service, api.get("/v1/nothing"))["cause"] == "Path not found."
    assert line_of(service, api.get("/v1/users?limit=0"))["cause"] == "limit range"
    assert "cause" not in line_of(service, api.get("/v1/ping"))


def test_the_log_line_of_a_refusal_has_cause_key_and_partner(
    service: Watched, api: PartnerClient, committed_partner: Partner
) -> None:
    request_id = api.get("/v1/ping", secret="psi_secret_x").header("X-Request-Id")
    (line,) = [
        line for line in service.lines() if (line["event"], line.get("request_id")) == ("unauthorized", request_id)
    ]
    found = (line["cause"], line["key"], line["partner"])
    assert found == ("bad signature", keys.find(api.api_key).prefix, committed_partner.slug)


def test_statements_are_counted_for_the_request_that_runs_them(service: Watched, api: PartnerClient) -> None:
    assert api.post("/v1/users", factories.user_body(externalId=ADA)).status == 201

    def statements(send: Callable[[], Response]) -> int:
        return int(line_of(service, send())["sql_statements"])

    assert statements(lambda: api.get("/v1/ping")) == 1
    assert statements(lambda: api.get(f"/v1/users/{ADA}")) == 2
    assert statements(lambda: api.get(f"/v1/users/{ADA}/transactions")) == 2
    assert statements(lambda: api.patch(f"/v1/users/{ADA}", {"city": secrets.token_hex(4)})) == 4
    # Nothing is left of the request before.
    nobody = line_of(service, service.transport("GET", "/v1/ping", {}, b""))
    assert [nobody[name] for name in ("partner", "key", "sql_statements", "status")] == [None, None, 0, 401]


def test_statements_of_the_orm_are_counted_too(service: Watched) -> None:
    # A session that is none is looked up, and its owner sent to the login.
    sent = {"X-Forwarded-Proto": "https", "Cookie": f"__Host-session={'t' * 32}"}
    response = service.transport("GET", "/admin/", sent, b"")
    assert response.status == 302
    line = line_of(service, response)
    assert line["sql_statements"] >= 1
    assert line["sql_milliseconds"] > 0


def test_a_method_that_somebody_made_up_is_not_repeated(service: Watched) -> None:
    assert line_of(service, service.transport("MADEUP", "/v1/ping", {}, b""))["method"] == "other"


SCRIPT = """
import logging, sys, threading, warnings
from config import logs
logs.configure(debug={debug})
import structlog
structlog.get_logger("partners.request").info("request", status=200)
logging.getLogger("library").error("lost %s", "a value")
logging.getLogger("django.security.csrf").error("a value")
# The request's line says these too.
logging.getLogger("django.request").error("a value")
logging.getLogger("django.request").warning("a value", exc_info=ValueError())
warnings.warn("a value", RuntimeWarning)
def crash():
    raise ValueError("a value")
thread = threading.Thread(target=crash)
thread.start()
thread.join()
crash()
"""


def ended(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=settings.BASE_DIR, capture_output=True, text=True, check=False)


def written(script: str, status: int) -> str:
    """What a process writes that runs the script."""
    done = ended(sys.executable, "-W", "always", "-c", script)
    assert (done.returncode, done.stdout) == (status, "")
    return done.stderr


def test_in_production_all_lines_are_json_without_values() -> None:
    text = written(SCRIPT.format(debug=False), 1)
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["event"] for line in lines] == [
        "request",
        "lost %s",
        "django.security.csrf",
        "warning",
        "uncaught exception",
        "uncaught exception",
    ]
    assert lines[3]["category"] == "RuntimeWarning"
    assert [line["failure"][0] for line in lines[4:]] == ["builtins.ValueError"] * 2
    assert "a value" not in text


def test_while_debugging_lines_are_for_people() -> None:
    text = written(SCRIPT.format(debug=True), 1)
    assert "request" in text.splitlines()[0]
    assert "status" in text.splitlines()[0]
    assert "lost a value" in text
    assert "ValueError: a value" in text
    with pytest.raises(json.JSONDecodeError):
        json.loads(text.splitlines()[0])


REFUSED_HOST = """
from config import logs
logs.configure(debug={debug})
import logging
from django.core.exceptions import DisallowedHost
for _ in range(2):
    try:
        raise DisallowedHost("Invalid HTTP_HOST header: 'elsewhere.example'.")
    except DisallowedHost as error:
        logging.getLogger("django.security.DisallowedHost").error(str(error), exc_info=error)
"""


@pytest.mark.parametrize("debug", [True, False])
def test_a_refused_host_is_one_line_and_no_error(debug: bool) -> None:  # noqa: FBT001 - pytest gives it
    text = written(REFUSED_HOST.format(debug=debug), 0)
    lines = text.splitlines()
    assert len(lines) == 2
    assert all("warning" in line and "Traceback" not in line for line in lines)
    assert debug or "elsewhere" not in text


def test_without_a_standard_error_lines_are_lost_and_nothing_else() -> None:
    script = (
        "from config import logs; logs.configure(debug=False); import structlog; structlog.get_logger('x').info('y')"
    )
    assert ended("sh", "-c", '"$0" -c "$1" 2>&-; echo $?', sys.executable, script).stdout == "0\n"


# Metrics: of the requests that the process answered, and of the database


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
    statuses = [api.get("/v1/ping").status for _ in range(40)]
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
    assert total(service, "psi_request_seconds_bucket", route="v1/ping", method="GET", le="+Inf") == before + 40


def test_a_replay_is_counted_and_the_first_response_is_not(
    service: Watched, api: PartnerClient, committed_partner: Partner
) -> None:
    body, key = factories.user_body(), str(uuid.uuid4())
    assert [api.post("/v1/users", body, key=key).status for _ in range(3)] == [201] * 3
    assert total(service, "psi_idempotent_replays_total", partner=committed_partner.slug) == 2


def test_throttled_requests_are_counted(service: Watched, api: PartnerClient, committed_partner: Partner) -> None:
    Partner.objects.filter(pk=committed_partner.pk).update(rate_limit="1/hour")
    statuses = [api.get("/v1/ping").status for _ in range(10)]
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
    samples = [sample for family in InstallationCollector().collect() for sample in family.samples]
    assert [sample.value for sample in samples if sample.name == "psi_redis_up"] == values


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
    forever = keys.issue(partner=committed_partner).record
    first, _ = (keys.issue(partner=partner, expires_at=soon).record for partner in (committed_partner, sandbox))
    assert slug not in ends()
    forever.revoked_at = timezone.now()
    forever.save(update_fields=["revoked_at"])
    assert ends()[slug] == soon
    assert sandbox.slug not in ends()
    second = keys.issue(partner=committed_partner, expires_at=later).record
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
        [metric] = [one for one in gauges(database) if one.name == "psi_api_keys_end_timestamp_seconds"]
    return {
        sample.labels["partner"]: datetime.fromtimestamp(sample.value, tz=timezone.get_default_timezone())
        for sample in metric.samples
    }


# Readiness


def test_readiness_warns_of_keys_in_force_alone_and_fails_where_all_are_lost(
    committed_partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A result counts for a minute otherwise.
    monkeypatch.setattr(health, "_undecryptable_secrets", health.Probe(health.count_undecryptable_secrets))
    # Those of other tests.
    ApiKey.objects.filter(revoked_at=None).update(revoked_at=Now())
    for _ in range(3):
        factories.client_of(committed_partner, in_process)
    lost = committed_partner.api_keys.order_by("pk")[:2]
    committed_partner.api_keys.filter(pk__in=[key.pk for key in lost]).update(encrypted_secret="of a retired key")
    committed_partner.api_keys.filter(pk=lost[0].pk).update(revoked_at=Now())

    def is_shown(status: int, name: str, problem: str) -> bool:
        response = Client().get("/readyz")
        return (response.status_code, response.json().get(name, {}).get("apiKeys")) == (status, problem)

    # On a busy machine a probe may once take too long, and says nothing of keys.
    wait_until(lambda: is_shown(200, "warnings", "keys in force whose secret cannot be decrypted: 1"))
    committed_partner.api_keys.update(encrypted_secret="of a retired key")
    wait_until(lambda: is_shown(503, "checks", "the secret of no key in force can be decrypted"))
    # Other tests are not to be warned of it.
    committed_partner.api_keys.filter(revoked_at=None).update(revoked_at=Now())
