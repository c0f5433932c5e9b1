"""Counts of requests outlive the process that made them, unless it is killed."""

from partners import tallies, traffic
from partners.models import Partner
from tests import factories
from tests.live.conftest import start_server


def test_a_process_that_is_stopped_writes_what_it_has_counted(partner: Partner) -> None:
    server = start_server()
    api = factories.client_of(partner, server.transport)
    statuses = [api.get("/v1/ping").status for _ in range(5)]
    statuses.append(api.get("/v1/ping", secret="psi_secret_x").status)
    assert statuses == [200] * 5 + [401]
    # Within the time after which it writes by itself.
    server.process.terminate()
    assert server.process.wait(timeout=tallies.FLUSH_SECONDS * 0.8) == 0
    assert traffic.of_partner(partner.pk, period=tallies.DAY).by_status == {200: 5, 401: 1}
