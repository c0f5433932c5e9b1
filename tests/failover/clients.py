"""Partners' programs, staff and readers under load, who note what they were told."""

import random
import threading
import time
import uuid
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from itertools import count, pairwise
from typing import Any

from tests import factories
from tests.support.client import PartnerClient, Response

# What an unavailable service responds with; the proxy says 502 and 504 where it is the proxy that has no response.
UNAVAILABLE = {502, 503, 504}
# No response may take longer.
MAX_SECONDS = 5.0
# The time of TLS, and of a busy machine.
MARGIN_SECONDS = 1.0
PAUSE_SECONDS = 0.2


@dataclass
class Written:
    """A user whose creation was acknowledged. values: of each acknowledged update; conversions: their ids."""

    user_id: str
    values: list[str] = field(default_factory=list)
    # What an update without a response may have set.
    unsure: str | None = None
    conversions: list[str] = field(default_factory=list)
    decisions: int = 0


@dataclass
class Notes:
    """What all clients were told. acknowledged: the times of writes. wrong: what contradicts the contract."""

    users: dict[str, Written] = field(default_factory=dict)
    # Those of the other partner, on whom staff decide.
    live_users: dict[str, Written] = field(default_factory=dict)
    acknowledged: list[float] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    staff_decisions: set[str] = field(default_factory=set)
    refused: Counter[str] = field(default_factory=Counter)
    reads: int = 0
    slowest: float = 0.0
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def pause_of_writes(self, begin: float, end: float) -> float:
        """The longest time without an acknowledged write, in seconds."""
        with self.lock:
            times = sorted(self.acknowledged)
        within = [begin, *times[bisect_left(times, begin) : bisect_left(times, end)], end]
        return max(after - before for before, after in pairwise(within))


@dataclass
class Clients:
    """The programs, each in a thread. make_client: a signed client from an address of its own, by number."""

    make_client: Callable[[int], PartnerClient]
    notes: Notes = field(default_factory=Notes)
    # Where the reader of the feed has stopped.
    cursor: str = ""
    decide: Callable[[str], bool] | None = None
    make_live_client: Callable[[int], PartnerClient] | None = None
    _ended: threading.Event = field(default_factory=threading.Event)
    _numbers: "count[int]" = field(default_factory=count)

    @contextmanager
    def running(self, *, writers: int = 4, readers: int = 2) -> Iterator[Notes]:
        """Run them during the block; the notes are complete after it."""
        roles = [self._write] * writers + [self._read] * readers + [self._follow]
        roles += [self._staff] if self.decide else []
        threads = [threading.Thread(target=self._repeat, args=(role, number)) for number, role in enumerate(roles)]
        for thread in threads:
            thread.start()
        try:
            yield self.notes
        finally:
            self._ended.set()
            for thread in threads:
                thread.join()

    def _repeat(self, role: Callable[[PartnerClient], None], number: int) -> None:
        make = self.make_live_client if role == self._staff else self.make_client
        assert make is not None
        client = make(number)
        while not self._ended.is_set():
            try:
                role(client)
            except Exception as error:  # noqa: BLE001 - a thread that dies would hide it
                self.notes.wrong.append(f"{role.__name__}: {error!r}")

    def _send(self, client: PartnerClient, method: str, target: str, data: object = None, **options: Any) -> Any:
        """A response that is not 503; None if there was none."""
        begun = time.monotonic()
        response: Response | None = None
        failure = ""
        try:
            response = client.send(method, target, data, **options)
        except (OSError, HTTPException) as error:
            failure = type(error).__name__
        took = time.monotonic() - begun
        with self.notes.lock:
            self.notes.slowest = max(self.notes.slowest, took)
            if took > MAX_SECONDS + MARGIN_SECONDS:
                self.notes.wrong.append(
                    f"{method} {target} took {took:.1f} s: {failure or (response and response.status)}"
                )
            if response is None or response.status in UNAVAILABLE:
                self.notes.refused[f"{method} {failure or (response and response.status)}"] += 1
                response = None
        if response is None:
            self._ended.wait(PAUSE_SECONDS)
        return response

    def _written(self, client: PartnerClient, method: str, target: str, data: object) -> Any:
        """The response of a write, which is repeated under its key until there is one; None at the end."""
        key = str(uuid.uuid4())
        while not self._ended.is_set():
            response = self._send(client, method, target, data, key=key)
            if response is not None:
                if response.status not in {200, 201}:
                    self.notes.wrong.append(f"{method} {target}: {response.status} {response.body!r}")
                    return None
                with self.notes.lock:
                    self.notes.acknowledged.append(time.monotonic())
                return response.json()
        return None

    def _create(self, client: PartnerClient, users: dict[str, Written]) -> tuple[str, Written] | None:
        external_id = f"failover-{next(self._numbers)}"
        made = self._written(client, "POST", "/v1/users", factories.user_body(externalId=external_id))
        if made is None:
            return None
        written = Written(made["userId"])
        with self.notes.lock:
            users[external_id] = written
        return external_id, written

    def _write(self, client: PartnerClient) -> None:
        """Create a user, decide on it, record conversions and update it."""
        created = self._create(client, self.notes.users)
        if created is None:
            return
        external_id, written = created
        path = f"/v1/sandbox/users/{external_id}"
        if self._written(client, "POST", f"{path}/status", {"status": "active"}):
            written.decisions += 1
        for _ in range(2):
            item = {
                "conversionId": uuid.uuid4().hex,
                "from": {"currency": "CAD", "amount": "10.00"},
                "to": {"currency": "USD", "amount": "7.00"},
                "rate": "0.7",
            }
            if self._written(client, "POST", f"{path}/transactions", {"items": [item]}):
                written.conversions.append(str(item["conversionId"]))
        for number in range(3):
            written.unsure = f"Engineer {number}"
            if self._written(client, "PATCH", f"/v1/users/{external_id}", {"occupation": written.unsure}):
                written.values.append(written.unsure)
                written.unsure = None

    def _read(self, client: PartnerClient) -> None:
        """Read a user that was acknowledged, and the list of its conversions."""
        with self.notes.lock:
            known = list(self.notes.users.items())[-500:]
        if not known:
            self._ended.wait(PAUSE_SECONDS)
            return
        external_id, written = random.choice(known)
        recorded = list(written.conversions)
        found = self._send(client, "GET", f"/v1/users/{external_id}")
        if found is not None and found.status != 200:
            self.notes.wrong.append(f"An acknowledged user is missing: {external_id}: {found.status}")
        listed = self._send(client, "GET", f"/v1/users/{external_id}/transactions")
        if listed is not None:
            if listed.status != 200:
                self.notes.wrong.append(f"list of {external_id}: {listed.status}")
                return
            ids = {item["conversionId"] for item in listed.json()["items"]}
            if not ids.issuperset(recorded):
                self.notes.wrong.append(f"A list lacks a conversion: {external_id}")
        self.notes.reads += 2
        self._ended.wait(PAUSE_SECONDS / 4)

    def _follow(self, client: PartnerClient) -> None:
        """Follow the feed of events to the end of the run, and then to its end."""
        while not self._ended.is_set():
            after = self.cursor and f"&cursor={self.cursor}"
            response = self._send(client, "GET", f"/v1/events?limit=100{after}")
            if response is None:
                continue
            if response.status != 200:
                self.notes.wrong.append(f"events: {response.status} {response.body!r}")
                continue
            page = response.json()
            self.notes.events += [item["eventId"] for item in page["items"]]
            self.cursor = page["nextCursor"]
            if not page["hasMore"]:
                self._ended.wait(PAUSE_SECONDS)

    def _staff(self, client: PartnerClient) -> None:
        """Register a live partner's user, on whom a member of staff decides."""
        created = self._create(client, self.notes.live_users)
        while created and not self._ended.is_set():
            assert self.decide is not None
            if self.decide(created[0]):
                self.notes.staff_decisions.add(created[0])
                return
            self.notes.refused["decision"] += 1
            self._ended.wait(PAUSE_SECONDS)
