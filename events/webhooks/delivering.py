"""The process that brings events into the feeds and sends webhooks (contract, section 10).

Its loop records results and leases due deliveries; sends share an event loop in a thread of its own, and the relay has
another, as a large transaction can keep it for minutes. Nothing is kept in memory that another process could not do
again, so it may be killed. It ends by itself at an error that is not the database's, and its supervisor starts another.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import lru_cache
from queue import Empty, SimpleQueue

import structlog
from django.db import DatabaseError, InterfaceError, connection

from core.request_context import request_context
from events.feed.relay import Relay
from events.webhooks.deliveries import Lease, lease
from events.webhooks.results import AttemptResult, record
from events.webhooks.sending import Sender

log = structlog.get_logger("events.webhooks.delivering")

# This process sends so many at once. Each takes a socket or two.
MAX_SENDS = 400
# Between two turns without work: an event is in the feed within 2 s.
IDLE_SECONDS = 0.3
# Between two turns while the database does not respond.
RETRY_SECONDS = 1.0
# How long sends under way may take at the end, so that the process ends within 20 s.
ENDING_SECONDS = 14.0


class Deliverer:
    """Delivers until it is stopped."""

    def __init__(self) -> None:
        self.attempts = 0
        self._sender = Sender()
        # By the delivery's id.
        self._sends: dict[int, Future[None]] = {}
        # Results to record; None wakes the loop. A signal's handler may interrupt `get` and call `put`.
        self._news: SimpleQueue[tuple[Lease, AttemptResult] | None] = SimpleQueue()
        self._results: list[tuple[Lease, AttemptResult]] = []
        # It is a daemon: the process does not wait for a long statement.
        self._relay = threading.Thread(target=self._place_events, name="relay", daemon=True)
        self._relay_failure: BaseException | None = None
        self._is_stopping = False

    def stop(self) -> None:
        """Lease nothing more, and end `run` when the sends under way have ended, or after ENDING_SECONDS."""
        self._is_stopping = True
        self._news.put(None)

    def run(self) -> None:
        """Deliver until `stop`. Raises what has ended the relay."""
        self._relay.start()
        try:
            self._repeat(self._turn, self._collect, "database not reached")
            self._end()
        finally:
            self._is_stopping = True
            connection.close()
        if self._relay_failure:
            raise self._relay_failure

    def _repeat(self, turn: Callable[[], float], wait: Callable[[float], object], failure: str) -> None:
        """Take turns until `stop`, whatever becomes of the database. turn: returns how long to wait for the next."""
        is_database_lost = False
        while not self._is_stopping:
            try:
                connection.close_if_unusable_or_obsolete()
                seconds = turn()
            except (DatabaseError, InterfaceError):
                connection.close()
                if not is_database_lost:
                    log.exception(failure)
                is_database_lost, seconds = True, RETRY_SECONDS
            else:
                if is_database_lost:
                    log.info("database reached again")
                is_database_lost = False
            wait(seconds)

    def _turn(self) -> float:
        """Record results and have due deliveries sent."""
        # After a failure they are recorded again: those that were are recognised by their lease.
        self._results = record(*self._results, skip_locked=True)
        leases = lease(limit=MAX_SENDS - len(self._sends))
        for one in leases:
            self._sends[one.delivery_id] = asyncio.run_coroutine_threadsafe(self._send(one), _sending_loop())
        return 0.0 if leases else IDLE_SECONDS

    async def _send(self, one: Lease) -> None:
        self._news.put((one, await self._sender.attempt(one)))

    def _collect(self, seconds: float) -> None:
        """Wait for news, for so long; take all results that there are."""
        with suppress(Empty):
            news = self._news.get(timeout=seconds)
            while True:
                if news:
                    self._sends.pop(news[0].delivery_id, None)
                    self._results.append(news)
                    self.attempts += 1
                news = self._news.get_nowait()

    def _end(self) -> None:
        """Wait for the sends under way, and record their results. The leases of those that are cancelled end later."""
        until = time.monotonic() + ENDING_SECONDS
        while self._sends and (left := until - time.monotonic()) > 0:
            self._collect(left)
        for send in self._sends.values():
            send.cancel()
        _try_to_record(*self._results)

    def _place_events(self) -> None:
        """Place events until `stop`, in a thread of its own. An error that is not the database's stops all."""
        relay = Relay()

        def turn() -> float:
            if not relay.assign_positions():
                return IDLE_SECONDS
            self._news.put(None)
            return 0.0

        try:
            self._repeat(turn, time.sleep, "events not placed")
        except BaseException as failure:  # noqa: BLE001 - raised by `run`
            self._relay_failure = failure
            self.stop()
        finally:
            connection.close()


def send_test(leased: Lease, *, seconds: float | None = None) -> AttemptResult:
    """Send what `lease_test` has leased, after its transaction; return the result, recorded if the database allows."""
    attempt = Sender().attempt(leased, seconds)
    with request_context.without_deadline():
        outcome = asyncio.run_coroutine_threadsafe(attempt, _sending_loop()).result()
    _try_to_record((leased, outcome))
    return outcome


def _try_to_record(*results: tuple[Lease, AttemptResult]) -> None:
    try:
        # Those of locked endpoints last.
        record(*record(*results, skip_locked=True))
    except (DatabaseError, InterfaceError):
        log.exception("results not recorded: their deliveries are attempted again")


@lru_cache(maxsize=1)
def _sending_loop() -> asyncio.AbstractEventLoop:
    """The event loop of this process's sends, in a thread; it outlives each: TLS closes up to a second later."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="webhooks", daemon=True).start()
    return loop
