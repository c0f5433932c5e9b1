"""What is asked of the service: requests by workload, signed, and written out for wrk."""

import json
import random
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import IO, NamedTuple

from bench.cluster import Cluster
from bench.errors import BenchError
from bench.service import PARTNER, Service
from partners.client import METHODS_WITH_BODY, SignedClient

LIST_LIMIT = 25
DEEP_LIMIT = 100
# Whose lists are followed to their end for the cursors of list_deep.
FOLLOWED_USERS = 20
# bench.load names users by their number.
PREFIX = "load-"
_random = random.Random()  # noqa: S311 - which user is asked for is no secret


class Request(NamedTuple):
    """A request before it is signed. key: its Idempotency-Key."""

    method: str
    target: str
    body: bytes = b""
    key: str | None = None


@dataclass(frozen=True, slots=True)
class World:
    """What requests may name. users: externalIds. cursors: externalIds, each with a nextCursor of their list."""

    users: Sequence[str]
    cursors: Sequence[tuple[str, str]]

    @property
    def highest(self) -> int:
        """The greatest number of a user."""
        return int(max(self.users).removeprefix(PREFIX))


@dataclass(frozen=True, slots=True)
class Workload:
    """A kind of requests. repeatable: whether one may be sent twice. statuses: what answers may have."""

    name: str
    make: Callable[[World], Request]
    repeatable: bool
    statuses: tuple[int, ...]


def look_around(service: Service, cluster: Cluster) -> World:
    """The users of PARTNER, and cursors that the service gave for their lists.

    Raises BenchError where no list has a second page, or a request is refused.
    """
    with cluster.connect(service.seeded.database) as connection:
        rows = connection.execute(
            "SELECT external_id FROM users_user u JOIN partners_partner p ON p.id = u.partner_id"
            " WHERE p.slug = %s AND external_id LIKE %s ORDER BY external_id",
            [PARTNER, f"{PREFIX}%"],
        )
        users = [external_id for (external_id,) in rows]
    # The first have the most conversions.
    cursors = [(user, cursor) for user in users[:FOLLOWED_USERS] for cursor in _cursors(service.client, user)]
    if not cursors:
        raise BenchError(f"No list has more than {DEEP_LIMIT} conversions: ask for more --conversions.")
    return World(users, cursors)


def _cursors(client: SignedClient, user: str) -> Iterable[str]:
    cursor = None
    while True:
        reply = client.send("GET", _transactions(user, DEEP_LIMIT, cursor))
        if reply.status != HTTPStatus.OK:
            raise BenchError(f"A list is answered {reply.status}: {reply.body.decode(errors='replace')[:500]}")
        cursor = reply.json()["nextCursor"]
        if cursor is None:
            return
        yield cursor


def write(requests: Iterable[Request], client: SignedClient, file: IO[bytes]) -> None:
    """Signs requests and writes them as play.lua reads them: valid for five minutes from now."""
    for request in requests:
        raw = signed(request, client)
        file.write(b"%d\n%b" % (len(raw), raw))


def signed(request: Request, client: SignedClient) -> bytes:
    """The bytes of a request, signed now."""
    headers = client.headers(request.method, request.target, request.body, request.key)
    if request.method in METHODS_WITH_BODY:
        headers |= {"Content-Type": "application/json", "Content-Length": str(len(request.body))}
    lines = [f"{request.method} {request.target} HTTP/1.1", "Host: 127.0.0.1", *map(": ".join, headers.items()), "", ""]
    return "\r\n".join(lines).encode() + request.body


def _transactions(user: str, limit: int, cursor: str | None = None) -> str:
    return f"/v1/users/{user}/transactions?limit={limit}" + (f"&cursor={cursor}" if cursor else "")


def _list(world: World) -> Request:
    return Request("GET", _transactions(_random.choice(world.users), LIST_LIMIT))


def _list_deep(world: World) -> Request:
    user, cursor = _random.choice(world.cursors)
    return Request("GET", _transactions(user, DEEP_LIMIT, cursor))


def _get(world: World) -> Request:
    return Request("GET", f"/v1/users/{_random.choice(world.users)}")


def _create(_: World) -> Request:
    body = {
        "externalId": f"bench-{uuid.uuid4()}",
        "email": "ada@example.com",
        "firstName": "Ada",
        "lastName": "Byron",
        "dateOfBirth": "1990-12-10",
        "addressLine1": "100 King St W",
        "city": "Toronto",
        "postalCode": "M5X 1A9",
        "province": "ON",
        "country": "CA",
        "occupation": "Engineer",
        "isCiroAffiliate": False,
    }
    return Request("POST", "/v1/users", json.dumps(body).encode(), str(uuid.uuid4()))


def _update(world: World) -> Request:
    number = _random.randrange(10**9)
    body = {
        "email": f"ada.{number}@example.com",
        "addressLine1": f"{number} King St W",
        "occupation": f"Engineer {number}",
    }
    target = f"/v1/users/{_random.choice(world.users)}"
    return Request("PATCH", target, json.dumps(body).encode(), str(uuid.uuid4()))


# How often of a hundred times each comes in the mix.
MIX = {"list": 80, "update": 15, "create": 5}


def _mix(world: World) -> Request:
    (name,) = _random.choices(list(MIX), list(MIX.values()))
    return WORKLOADS[name].make(world)


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("list", _list, repeatable=True, statuses=(200,)),
        Workload("list_deep", _list_deep, repeatable=True, statuses=(200,)),
        Workload("get", _get, repeatable=True, statuses=(200,)),
        Workload("create", _create, repeatable=False, statuses=(201,)),
        Workload("update", _update, repeatable=False, statuses=(200,)),
        Workload("mix", _mix, repeatable=False, statuses=(200, 201)),
    )
}
