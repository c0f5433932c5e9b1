import signal

import structlog
from django.db import connections

from core.management.base import Outcome, ServiceCommand, ending_signals
from events.monitoring import APPLICATION_NAME
from events.webhooks.delivering import Deliverer

log = structlog.get_logger("events.deliver_events")


class Command(ServiceCommand):
    help = (
        "Brings events into the order of the feed and sends webhooks, until SIGTERM, SIGINT or SIGHUP; ends within 20 s"
        " of it. Several may run side by side, on any machine."
    )

    def perform(self) -> Outcome:
        connections.settings["default"]["OPTIONS"]["application_name"] = APPLICATION_NAME
        deliverer = Deliverer()
        for number in ending_signals():
            signal.signal(number, lambda *_: deliverer.stop())
        try:
            deliverer.run()
        except Exception:
            # For the journal; systemd starts it again.
            log.critical("uncaught exception", exc_info=True)
            raise SystemExit(1) from None
        return Outcome({"attempts": deliverer.attempts}, f"Attempts made: {deliverer.attempts}.")
