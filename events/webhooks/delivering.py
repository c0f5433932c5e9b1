"""The process that brings events into the feeds and sends webhooks (contract, section 10).

Sends share one event loop. In a thread, each turn of the database records results, makes deliveries and leases due
ones; the relay has another, as a large transaction can keep it for minutes. Nothing is kept in memory that another
process could not do again, so it may be killed. It ends by itself at an error that is not the database's, and its
supervisor starts another.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache, partial
from typing import NamedTuple, ParamSpec, TypeVar

import structlog
from django.db import DatabaseError, InterfaceError, connection, transaction

from core.refusals import RefusedError
from core.request_context import request_context
from events.feed.relay import Relay
from events.models import WebhookEndpoint
from events.webhooks import endpoints
from events.webhooks.deliveries import create_test
from events.webhooks.fan_out import fan_out
from events.webhooks.leases import MAX_AT_ONCE, Lease, has_room, is_tested, lease, lease_delivery
from events.webhooks.results import Outcome, record, record_all
from events.webhooks.sending import Sender

log = structlog.get_logger("events.webhooks.delivering")

# The process's sessions have this name: partners/checks.py looks for them.
APPLICATION_NAME = "partner-service-deliverer"
# This process sends so many at once. Each takes a socket or two.
MAX_SENDS = 400
# Between two cycles without work: an event is in the feed within 2 s.
IDLE_SECONDS = 0.3
# Between two cycles while the database does not respond.
RETRY_SECONDS = 1.0
# How long sends under way may take at the end, so that the process ends within 20 s.
ENDING_SECONDS = 14.0

P = ParamSpec("P")
T = TypeVar("T")


class Job(NamedTuple):
    """A leased delivery, and the secrets that sign it."""

    lease: Lease
    secrets: list[str]


class _Cycle(NamedTuple):
    """What a turn found. has_more: whether there may be more at once."""

    jobs: list[Job]
    has_more: bool


class Deliverer:
    """Delivers until it is stopped."""

    def __init__(self) -> None:
        self.attempts = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._results: list[tuple[Lease, Outcome]] = []
        self._stopping = threading.Event()
        # Set when there is a result to record, or an event to deliver, or at the stop.
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "database")
        # It is a daemon: the process does not wait for a long statement.
        self._relay = threading.Thread(target=self._place_events, name="relay", daemon=True)
        self._relay_failure: BaseException | None = None
        self._is_database_lost = False

    def stop(self) -> None:
        """Lease nothing more, and end `run` when the sends under way have ended, or after ENDING_SECONDS."""
        self._stopping.set()
        self._wake.set()

    async def run(self) -> None:
        """Deliver until `stop`. Raises what has ended the relay."""
        self._relay.start()
        with self._thread:
            sender = Sender()
            try:
                while not self._stopping.is_set():
                    if not await self._cycle(sender):
                        await self._wait(RETRY_SECONDS if self._is_database_lost else IDLE_SECONDS)
                await self._end()
            finally:
                self._stopping.set()
                await self._in_thread(_close_connection)
        if self._relay_failure:
            raise self._relay_failure

    async def _cycle(self, sender: Sender) -> bool:
        """Run a cycle in the database; return whether to run the next at once."""
        self._wake.clear()
        results, self._results = self._results, []
        try:
            cycle = await self._in_thread(self._work, results, MAX_SENDS - len(self._tasks))
        except (DatabaseError, InterfaceError):
            # Those recorded already are recognised by their lease.
            self._results = results + self._results
            if not self._is_database_lost:
                log.exception("database not reached")
            self._is_database_lost = True
            return False
        if self._is_database_lost:
            log.info("database reached again")
        self._is_database_lost = False
        for job in cycle.jobs:
            task = asyncio.create_task(self._send(sender, job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return cycle.has_more

    def _work(self, results: list[tuple[Lease, Outcome]], room: int) -> _Cycle:
        """What the database does in a cycle. room: for deliveries to send."""
        try:
            connection.close_if_unusable_or_obsolete()
            if results:
                record_all(results)
            events = fan_out()
            leases = lease(limit=room // MAX_AT_ONCE) if room >= MAX_AT_ONCE else []
            return _Cycle(_jobs(leases), bool(events or leases))
        except (DatabaseError, InterfaceError):
            connection.close()
            raise

    async def _send(self, sender: Sender, job: Job) -> None:
        outcome = await sender.attempt(job.lease, job.secrets)
        self.attempts += 1
        self._results.append((job.lease, outcome))
        self._wake.set()

    async def _wait(self, seconds: float) -> None:
        """Wait for a result, the stop, or so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    async def _end(self) -> None:
        """Wait for the sends under way, and record their results. The leases of those that are cancelled end later."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=ENDING_SECONDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            await self._in_thread(record_all, self._results)
        except (DatabaseError, InterfaceError):
            log.exception("results not recorded: their deliveries are attempted again")

    def _place_events(self) -> None:
        """Place events until `stop`, in a thread of its own. An error that is not the database's stops all."""
        try:
            self._run_relay(Relay())
        except BaseException as failure:  # noqa: BLE001 - raised by `run`
            self._relay_failure = failure
            self._tell_loop(self.stop)
        finally:
            connection.close()

    def _run_relay(self, relay: Relay) -> None:
        is_database_lost = False
        while not self._stopping.is_set():
            try:
                connection.close_if_unusable_or_obsolete()
                count = relay.assign_positions()
            except (DatabaseError, InterfaceError):
                connection.close()
                if not is_database_lost:
                    log.exception("events not placed")
                is_database_lost = True
                self._stopping.wait(RETRY_SECONDS)
                continue
            is_database_lost = False
            if count:
                self._tell_loop(self._wake.set)
            else:
                self._stopping.wait(IDLE_SECONDS)

    def _tell_loop(self, callback: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(callback)

    async def _in_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in the thread that has the database connection."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(function, *args, **kwargs))


def _close_connection() -> None:
    # A function, as `connection` is looked up in the thread that runs it, which has one of its own.
    connection.close()


class BusyError(RefusedError):
    """MAX_AT_ONCE requests to an endpoint are under way."""


def send_test(*, endpoint: WebhookEndpoint) -> Outcome:
    """Send a `webhook.test` now, in this process, and return the result. Not within a transaction.

    Raises BusyError.
    """
    with transaction.atomic(durable=True):
        job = begin_test(endpoint=endpoint)
    return finish_test(job)


def begin_test(*, endpoint: WebhookEndpoint, is_only: bool = False) -> Job:
    """Create a `webhook.test`, leased before another process can see it, within a transaction. Raises BusyError.

    is_only: not while another test of the partner is under way, in whatever process.
    """
    if (is_only and is_tested(endpoint.partner_id)) or not has_room(endpoint):
        raise BusyError(f"{MAX_AT_ONCE} requests to it are under way: try again in a few seconds.")
    return _jobs([lease_delivery(create_test(endpoint=endpoint))])[0]


def finish_test(job: Job, *, seconds: float | None = None) -> Outcome:
    """Send what `begin_test` has leased, record the result and return it. After its transaction.

    seconds: that the attempt may take, by default as long as any attempt.
    """
    attempt = Sender().attempt(job.lease, job.secrets, seconds)
    with request_context.without_deadline():
        outcome = asyncio.run_coroutine_threadsafe(attempt, _loop_of_tests()).result()
    record(job.lease, outcome)
    return outcome


@lru_cache(maxsize=1)
def _loop_of_tests() -> asyncio.AbstractEventLoop:
    """The event loop of this process's tests, in a thread of its own.

    It outlives each: a connection under TLS closes some time after its last response, up to a second.
    """
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="webhook-tests", daemon=True).start()
    return loop


def _jobs(leases: list[Lease]) -> list[Job]:
    secrets = endpoints.secrets_by_endpoint({one.endpoint_id for one in leases})
    return [Job(one, secrets[one.endpoint_id]) for one in leases]
