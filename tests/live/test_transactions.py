"""A write under /v1 is one Django transaction, on the real server and in Django's test client."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from partners.models import Partner
from tests import factories
from tests.live.conftest import serving
from tests.live.probe import KEPT, ROLLED_BACK, noted, probing
from tests.support.client import PartnerClient, Transport, by_django_client, in_process
from users.api.views import UserCollection

IN_TRANSACTION = {
    "event": "in the transaction",
    "in_atomic_block": True,
    "others": False,
    "after_savepoint": True,
    "durable": "refused",
}


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Transport, Path]]:
    file = tmp_path_factory.mktemp("probe") / "noted"
    with serving(DJANGO_SETTINGS_MODULE="tests.live.probe_settings", PROBE_FILE=str(file)) as running:
        yield running.transport, file


@pytest.fixture(params=["server", "test client", "WSGI application"])
def probed(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, partner: Partner
) -> tuple[PartnerClient, Callable[[], list[dict[str, Any]]]]:
    """A client, and what its last writes have noted."""
    if request.param == "server":
        transport, file = request.getfixturevalue("server")
        file.unlink(missing_ok=True)
    else:
        transport, file = by_django_client if request.param == "test client" else in_process, tmp_path / "noted"
        monkeypatch.setenv("PROBE_FILE", str(file))
        monkeypatch.setattr(UserCollection, "perform", probing(UserCollection.perform))
    return factories.client_of(partner, transport), lambda: noted(file)


Probed = tuple[PartnerClient, Callable[[], list[dict[str, Any]]]]


@pytest.mark.parametrize("with_key", [False, True], ids=["no key", "idempotency key"])
def test_on_commit_runs_after_the_commit(probed: Probed, partner: Partner, *, with_key: bool) -> None:
    api, seen = probed
    response = api.post("/v1/users", factories.user_body(city=KEPT), key=str(uuid4()) if with_key else None)
    assert response.status == 201
    assert seen() == [IN_TRANSACTION, {"event": "on commit", "in_atomic_block": False, "others": True}]
    assert partner.users.get().occupation == factories.user_body()["occupation"]


@pytest.mark.parametrize("with_key", [False, True], ids=["no key", "idempotency key"])
def test_on_commit_does_not_run_after_a_rollback(probed: Probed, partner: Partner, *, with_key: bool) -> None:
    api, seen = probed
    response = api.post("/v1/users", factories.user_body(city=ROLLED_BACK), key=str(uuid4()) if with_key else None)
    assert response.status == 500
    # Nor with the next commit on that connection.
    assert api.post("/v1/users", factories.user_body()).status == 201
    assert seen() == [IN_TRANSACTION]
    assert partner.users.count() == 1
