import asyncio

import structlog
from django.db import DatabaseError, InterfaceError, connections

from core.management.base import Outcome, ServiceCommand, ending_signals
from events.webhooks.delivering import APPLICATION_NAME, Deliverer

log = structlog.get_logger("partners.deliver_events")


class Command(ServiceCommand):
    help = (
        "Brings events into the order of the feed and sends webhooks, until SIGTERM, SIGINT or SIGHUP; ends within 20 s"
        " of it. Several may run side by side, on any machine."
    )

    def perform(self) -> Outcome:
        connections.settings["default"]["OPTIONS"]["application_name"] = APPLICATION_NAME
        try:
            attempts = asyncio.run(_deliver())
        except (DatabaseError, InterfaceError):
            raise
        except Exception:
            # For the journal; systemd starts it again.
            log.critical("uncaught exception", exc_info=True)
            raise SystemExit(1) from None
        return Outcome({"attempts": attempts}, f"Attempts made: {attempts}.")


async def _deliver() -> int:
    deliverer = Deliverer()
    for number in ending_signals():
        asyncio.get_running_loop().add_signal_handler(number, deliverer.stop)
    await deliverer.run()
    return deliverer.attempts
