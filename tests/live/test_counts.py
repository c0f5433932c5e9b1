"""Usage counters are written when a process stops."""

from pathlib import Path

from partners.models import Partner
from partners.usage import reports
from tests import factories
from tests.live.conftest import start_server
from tests.support.timeouts import WAIT_SECONDS

# The counts are not written by themselves while the test waits.
LATE = f"""
from tests.server_settings import *
from partners.usage import recording
recording.FLUSH_SECONDS = {10 * WAIT_SECONDS}
"""


def test_a_stopped_process_writes_its_counts(partner: Partner, tmp_path: Path) -> None:
    (tmp_path / "settings_with_late_writer.py").write_text(LATE)
    server = start_server(DJANGO_SETTINGS_MODULE="settings_with_late_writer", PYTHONPATH=str(tmp_path))
    api = factories.client_of(partner, server.transport)
    statuses = [api.get("/v1/ping").status for _ in range(5)]
    statuses.append(api.get("/v1/ping", secret="psi_secret_x").status)
    assert statuses == [200] * 5 + [401]
    server.process.terminate()
    assert server.process.wait(timeout=WAIT_SECONDS) == 0
    assert reports.requests_of(partner.pk, period=reports.DAY).by_status == {200: 5, 401: 1}
