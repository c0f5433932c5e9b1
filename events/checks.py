"""What `check --deploy --database default` finds about the delivery of events."""

import time

from django.core.checks import Error

from events.webhooks.delivering import APPLICATION_NAME
from partners.checks import Found, installation_check
from partners.monitoring.health import connect

# Behind PgBouncer deliver_events has a session only while it works, which is every 0.3 s.
DELIVERER_SECONDS = 2.0


@installation_check
def check_deliverer() -> Found:
    """Whether deliver_events is connected to the database, from any machine."""
    sessions = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s"
    until = time.monotonic() + DELIVERER_SECONDS
    with connect() as database:
        while not database.execute(sessions, (APPLICATION_NAME,)).rowcount:
            if time.monotonic() > until:
                hint = "Start it (`systemctl start psi-deliver`), on one machine or more."
                yield Error("deliver_events is not connected to the database.", hint=hint, id="psi.E010")
                return
            time.sleep(0.1)
