"""The workloads: signed requests, written to a file for wrk."""

import json
import random
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import IO, NamedTuple

from bench.cluster import Cluster
from bench.errors import BenchError
from bench.service import PARTNER, Service
from psi import Client, canonical_request, sign

USERS = "/v1/users"
LIST_LIMIT = 25
DEEP_LIMIT = 100
# Users whose lists are read to the end for the cursors of list_deep.
FOLLOWED_USERS = 20
# bench.load names users by their number.
PREFIX = "load-"
_random = random.Random()  # noqa: S311 - no secret


class Request(NamedTuple):
    """An unsigned request. key: its Idempotency-Key."""

    method: str
    target: str
    body: bytes = b""
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """Existing rows. users: externalIds. cursors: externalIds, each with a nextCursor of the user's list.

    user_cursors: those of the list of users.
    """

    users: Sequence[str]
    cursors: Sequence[tuple[str, str]]
    user_cursors: Sequence[str]


@dataclass(frozen=True, slots=True)
class Workload:
    """A kind of requests. repeatable: whether one may be sent twice. statuses: expected ones."""

    name: str
    make: Callable[[Dataset], Request]
    repeatable: bool
    statuses: tuple[int, ...]


def read_dataset(service: Service, cluster: Cluster) -> Dataset:
    """Return the users of PARTNER and cursors of their lists. Raises BenchError if there are none."""
    with cluster.connect(service.seeded.database) as connection:
        rows = connection.execute(
            "SELECT external_id FROM users_user u JOIN partners_partner p ON p.id = u.partner_id"
            " WHERE p.slug = %s AND external_id LIKE %s ORDER BY external_id",
            [PARTNER, f"{PREFIX}%"],
        )
        users = [external_id for (external_id,) in rows]
    # The first have the most conversions.
    lists = {user: f"/v1/users/{user}/transactions" for user in users[:FOLLOWED_USERS]}
    cursors = [(user, cursor) for user, path in lists.items() for cursor in _cursors(service.client, path, DEEP_LIMIT)]
    if not cursors:
        raise BenchError(f"No list has more than {DEEP_LIMIT} conversions: increase --conversions.")
    return Dataset(users, cursors, [*_cursors(service.client, USERS, LIST_LIMIT)])


def _cursors(client: Client, path: str, limit: int) -> Iterable[str]:
    cursor = None
    while True:
        response = client.send("GET", _page(path, limit, cursor))
        if response.status == HTTPStatus.METHOD_NOT_ALLOWED:
            # The revision has no such list.
            return
        if response.status != HTTPStatus.OK:
            raise BenchError(f"A list has status {response.status}: {response.body.decode(errors='replace')[:500]}")
        cursor = response.json()["nextCursor"]
        if cursor is None:
            return
        yield cursor


def write(requests: Iterable[Request], key: tuple[str, str], file: IO[bytes]) -> None:
    """Sign requests and write them for play.lua; they are valid for five minutes. key: an API key and its secret."""
    api_key, secret = key
    for method, target, body, idempotency_key in requests:
        timestamp = datetime.now(UTC).isoformat()
        canonical = canonical_request(method, target, timestamp, idempotency_key or "", body)
        headers = {
            "X-Api-Key": api_key,
            "X-Request-Timestamp": timestamp,
            "X-Request-Signature": sign(secret, canonical),
        }
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        if method != "GET":
            headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        lines = [f"{method} {target} HTTP/1.1", "Host: 127.0.0.1", *map(": ".join, headers.items()), "", ""]
        raw = "\r\n".join(lines).encode() + body
        file.write(b"%d\n%b" % (len(raw), raw))


def _page(path: str, limit: int, cursor: str | None = None) -> str:
    return f"{path}?limit={limit}" + (f"&cursor={cursor}" if cursor else "")


def _transactions(user: str, limit: int, cursor: str | None = None) -> str:
    return _page(f"/v1/users/{user}/transactions", limit, cursor)


def _list(dataset: Dataset) -> Request:
    return Request("GET", _transactions(_random.choice(dataset.users), LIST_LIMIT))


def _list_deep(dataset: Dataset) -> Request:
    user, cursor = _random.choice(dataset.cursors)
    return Request("GET", _transactions(user, DEEP_LIMIT, cursor))


def _users(dataset: Dataset) -> Request:
    # As many items as of `list`.
    return Request("GET", _page(USERS, LIST_LIMIT, _random.choice([None, *dataset.user_cursors])))


def _get(dataset: Dataset) -> Request:
    return Request("GET", f"/v1/users/{_random.choice(dataset.users)}")


def _create(_: Dataset) -> Request:
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


def _update(dataset: Dataset) -> Request:
    number = _random.randrange(10**9)
    body = {
        "email": f"ada.{number}@example.com",
        "addressLine1": f"{number} King St W",
        "occupation": f"Engineer {number}",
    }
    target = f"/v1/users/{_random.choice(dataset.users)}"
    return Request("PATCH", target, json.dumps(body).encode(), str(uuid.uuid4()))


# Percentages of the mix.
MIX = {"list": 80, "update": 15, "create": 5}


def _mix(dataset: Dataset) -> Request:
    (name,) = _random.choices(list(MIX), list(MIX.values()))
    return WORKLOADS[name].make(dataset)


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("list", _list, repeatable=True, statuses=(200,)),
        Workload("list_deep", _list_deep, repeatable=True, statuses=(200,)),
        Workload("users", _users, repeatable=True, statuses=(200,)),
        Workload("get", _get, repeatable=True, statuses=(200,)),
        Workload("create", _create, repeatable=False, statuses=(201,)),
        Workload("update", _update, repeatable=False, statuses=(200,)),
        Workload("mix", _mix, repeatable=False, statuses=(200, 201)),
    )
}
