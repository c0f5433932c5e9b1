"""A partner's program that reconciles over a lossy network, and what it intends to do.

It uses what the contract documents, and nothing else: Idempotency-Key, the look-up of a key, the feed and the lists.
"""

import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from tests import factories
from tests.long.lossy import ConnectionLostError
from tests.support.client import PartnerClient, Response
from users.models.requirements import MAX_REQUIREMENTS
from users.models.statuses import TRANSITIONS, Status

USERS = "/v1/users"
REQUIREMENT = "{requirement}"
# Nothing has happened, says the contract: the request may be sent again.
REFUSED_FOR_NOW = {429, 500, 503}
# So many failures in a row are no chance.
MAX_ATTEMPTS = 100


@dataclass(frozen=True)
class Operation:
    """A write that is to happen once. status: of its response. events: type and data of what the feed is to say of it.

    path: with REQUIREMENT for the oldest requirement of the user, whose id only the service knows.
    natural: whether it can be repeated without a key: a second create is a conflict, and a conversion has its id.
    """

    external_id: str
    method: str
    path: str
    body: dict[str, Any]
    status: int
    events: tuple[tuple[str, Any], ...] = ()
    natural: bool = False


@dataclass
class UserPlan:
    """The operations of one user in their order, and what they leave behind."""

    external_id: str
    random: random.Random
    status: Status = Status.PENDING_COMPLIANCE
    city: str = "Toronto"
    # That change the row, the create included.
    changes: int = 1
    decisions: int = 0
    conversions: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    # Whether each requirement that is not closed was answered, and all answers.
    answered: list[bool] = field(default_factory=list)
    answers: int = 0

    def operations(self, count: int) -> list[Operation]:
        """A create, and a number of operations at random."""
        body = factories.user_body(externalId=self.external_id, city=self.city)
        create = self._operation("POST", USERS, body, 201, natural=True)
        kinds = (
            *(self._update, self._decide, self._decide, self._convert, self._convert, self._publish, self._mistake),
            *(self._ask, self._ask, self._note),
        )
        return [create, *(self.random.choice(kinds)() for _ in range(count))]

    def _operation(self, method: str, path: str, body: dict[str, Any], status: int, **more: Any) -> Operation:
        return Operation(self.external_id, method, path, body, status, **more)

    def _simulated(self, name: str) -> str:
        return f"/v1/sandbox/users/{self.external_id}/{name}"

    def _update(self) -> Operation:
        self.changes += 1
        self.city = f"City {self.changes}"
        # It answers every requirement that is open.
        self.answers += self.answered.count(False)
        self.answered = [True] * len(self.answered)
        return self._operation("PATCH", f"{USERS}/{self.external_id}", {"city": self.city}, 200)

    def _decide(self) -> Operation:
        allowed = [one for one in TRANSITIONS[self.status] if one != Status.ACTIVE or all(self.answered)]
        if not allowed:
            return self._mistake()
        self.status = self.random.choice(allowed)
        self.changes += 1
        self.decisions += 1
        events: tuple[tuple[str, Any], ...] = (("user.statusChanged", self.status.value),)
        if self.answered and self.status in {Status.ACTIVE, Status.REJECTED, Status.CLOSED}:
            self.answered = []
            events += (("user.requirementsChanged", 0),)
        return self._operation("POST", self._simulated("status"), {"status": self.status}, 200, events=events)

    def _ask(self) -> Operation:
        if self.status in {Status.REJECTED, Status.CLOSED} or len(self.answered) == MAX_REQUIREMENTS:
            return self._mistake()
        self.answered.append(False)
        events = (("user.requirementsChanged", self.answered.count(False)),)
        body = {"code": "addressUnclear", "fields": ["city"]}
        return self._operation("POST", self._simulated("requirements"), body, 201, events=events)

    def _note(self) -> Operation:
        if not self.answered:
            return self._mistake()
        self.answers += 1
        self.answered[0] = True
        path = f"{USERS}/{self.external_id}/requirements/{REQUIREMENT}/response"
        return self._operation("POST", path, {"note": "An answer."}, 200)

    def _convert(self) -> Operation:
        first, count = len(self.conversions), self.random.randint(1, 3)
        new = [f"{self.external_id}-{first + number}" for number in range(count)]
        self.conversions += new
        events = (("user.transactionsRecorded", count),)
        return self._operation(
            "POST", self._simulated("transactions"), {"items": [*map(_item, new)]}, 201, events=events, natural=True
        )

    def _publish(self) -> Operation:
        title = f"Statement {len(self.titles)}"
        self.titles.append(title)
        events = (("user.documentPublished", "accountStatement"),)
        body = {"type": "accountStatement", "title": title}
        return self._operation("POST", self._simulated("documents"), body, 201, events=events)

    def _mistake(self) -> Operation:
        """A write that is refused, and changes nothing."""
        path = f"{USERS}/{self.external_id}"
        mistakes = (
            ("POST", self._simulated("status"), {"status": self.status}, 409),
            ("POST", self._simulated("transactions"), {"items": [_item("cv-1"), _item("cv-2") | {"rate": "0"}]}, 400),
            ("PATCH", path, {"city": "Ottawa", "dateOfBirth": "2025-01-01"}, 422),
            ("PATCH", f"{USERS}/nobody", {"city": "Ottawa"}, 404),
        )
        return self._operation(*self.random.choice(mistakes))


def _item(conversion_id: str) -> dict[str, Any]:
    return {
        "conversionId": conversion_id,
        "createdAt": "2026-01-15T10:30:00Z",
        "from": {"currency": "CAD", "amount": "100.00"},
        "to": {"currency": "USD", "amount": "71.50"},
        "rate": "0.715",
    }


def shuffled(lists: list[list[Operation]], order: random.Random) -> Iterator[Operation]:
    """All operations: those of a user in their order, those of different users at random."""
    turns = [number for number, operations in enumerate(lists) for _ in operations]
    order.shuffle(turns)
    left = [*map(iter, lists)]
    return (next(left[turn]) for turn in turns)


@dataclass
class Reconciler:
    """Performs operations until each has happened once. events: as read from the feed."""

    client: PartnerClient
    random: random.Random
    events: list[dict[str, Any]] = field(default_factory=list)
    cursor: str = ""
    attempts: int = 0
    # How each operation came to be known as done.
    settled_by: list[str] = field(default_factory=list)
    # By user, the number of events of the operations that are done.
    _made: Counter[str] = field(default_factory=Counter)

    def perform(self, operation: Operation) -> None:
        """Send a write until it is known to have happened."""
        if REQUIREMENT in operation.path:
            oldest = self.get(f"{USERS}/{operation.external_id}").json()["requirements"][0]["requirementId"]
            operation = replace(operation, path=operation.path.replace(REQUIREMENT, oldest))
        key = None if operation.natural and self.random.random() < 0.5 else self._new_key()
        lost = False
        for _ in range(MAX_ATTEMPTS):
            response = self._try(operation, key)
            if response is not None:
                repeated_create = key is None and lost and response.status == 409 and operation.path == USERS
                assert response.status == operation.status or repeated_create, (response.status, response.body)
                self.settled_by.append("response")
                return
            lost = True
            means = self.random.choice(self._means(operation, key))
            if means is not None and means():
                self.settled_by.append(means.__name__)
                return
        raise AssertionError(f"not done after {MAX_ATTEMPTS} attempts: {operation.method} {operation.path}")

    def _means(self, operation: Operation, key: str | None) -> list[Callable[[], bool] | None]:
        """What tells whether a write has happened; None to send it again without a question."""

        def look_up() -> bool:
            response = self.get(f"/v1/idempotency-keys/{key}")
            if response.status == 404:
                return False
            found = response.json()
            expected = operation.method, operation.path, operation.status
            assert (found["method"], found["path"], found["status"]) == expected, found
            return True

        def read_users() -> bool:
            return operation.external_id in {user["externalId"] for user in self.users()}

        def read_feed() -> bool:
            self.follow()
            return len(self.told(operation.external_id)) > self._made[operation.external_id]

        means: list[Callable[[], bool] | None] = [None]
        means += [look_up] if key else []
        means += [read_users] if operation.path == USERS else []
        means += [read_feed] if operation.events else []
        return means

    def run(self, operations: Iterator[Operation]) -> None:
        """Perform all, and read the feed now and then."""
        for operation in operations:
            self.perform(operation)
            self._made[operation.external_id] += len(operation.events)
            if self.random.random() < 0.2:
                self.follow()

    def _new_key(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def _try(self, operation: Operation, key: str | None) -> Response | None:
        """A response that settles the matter, or None."""
        self.attempts += 1
        try:
            response = self.client.send(operation.method, operation.path, operation.body, key=key)
        except ConnectionLostError:
            return None
        return None if response.status in REFUSED_FOR_NOW else response

    def get(self, target: str) -> Response:
        """A whole response to a read."""
        for _ in range(MAX_ATTEMPTS):
            self.attempts += 1
            with suppress(ConnectionLostError):
                response = self.client.get(target)
                if response.status not in REFUSED_FOR_NOW:
                    return response
        raise AssertionError(f"no response after {MAX_ATTEMPTS} attempts: GET {target}")

    def follow(self) -> None:
        """Read the feed to its end."""
        while True:
            page = self.get(f"/v1/events?limit={self.random.randint(1, 5)}{self.cursor}").json()
            self.events += page["items"]
            self.cursor = f"&cursor={page['nextCursor']}"
            if not page["hasMore"]:
                return

    def told(self, external_id: str) -> list[tuple[str, Any]]:
        """What the feed has said of a user, as in Operation.events."""
        named = {
            "user.statusChanged": "status",
            "user.requirementsChanged": "openRequirements",
            "user.transactionsRecorded": "count",
            "user.documentPublished": "type",
        }
        return [
            (event["type"], event["data"][named[event["type"]]])
            for event in self.events
            if event["data"]["externalId"] == external_id
        ]

    def users(self) -> list[dict[str, Any]]:
        """All users, page by page."""
        return self.items(USERS)

    def items(self, path: str) -> list[dict[str, Any]]:
        """All items of a list, page by page."""
        found: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = self.get(f"{path}?limit={self.random.randint(1, 5)}{cursor}").json()
            found += page["items"]
            if page["nextCursor"] is None:
                return found
            cursor = f"&cursor={page['nextCursor']}"
