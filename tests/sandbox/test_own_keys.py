"""API keys that a sandbox partner lists, rotates and revokes by itself: contract, section 11."""

from datetime import datetime, timedelta
from http.client import IncompleteRead
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.models import AuditEntry
from partners.api.idempotency import ALREADY_RECEIVED
from partners.authentication import keys
from partners.models import ApiKey, Partner
from sandbox import self_service
from tests import factories
from tests.support.at_once import at_once
from tests.support.client import PartnerClient, Transport, now
from tests.support.commands import outcome, refusal
from tests.support.responses import assert_error, codes

ROTATE = "/v1/sandbox/api-keys/rotate"
LIST = "/v1/sandbox/api-keys"
PING = "/v1/ping"
KEY = "7f8d2c1a-3b4e-4f5a-8c6d-9e0f1a2b3c4d"


def rotate(client: PartnerClient, **body: Any) -> tuple[PartnerClient, datetime]:
    """A client with the new key, and when the old one ends."""
    response = client.post(ROTATE, body)
    assert response.status == 201, response.body
    issued = response.json()
    assert set(issued) == {"apiKey", "secret", "expiresAt"}
    new = PartnerClient(issued["apiKey"], issued["secret"], client.transport)
    return new, datetime.fromisoformat(issued["expiresAt"])


def test_the_old_key_is_in_force_for_the_overlap(sandbox_partner: Partner, transport: Transport) -> None:
    issued = keys.issue(partner=sandbox_partner, label="laptop")
    sandbox = PartnerClient(issued.api_key, issued.secret, transport)
    new, ends = rotate(sandbox, overlapHours=2)
    assert new.api_key.startswith("psi_test_key_")
    assert new.secret.startswith("psi_test_secret_")
    assert [one.get(PING).status for one in (sandbox, new)] == [200, 200]
    old = keys.find(sandbox.api_key)
    assert old.expires_at == ends
    assert timedelta(hours=1, minutes=55) < ends - timezone.now() <= timedelta(hours=2)
    record = keys.find(new.api_key)
    assert (record.partner_id, record.label, record.expires_at) == (old.partner_id, "laptop", None)


def test_the_overlap_is_a_day_by_default_and_without_one_the_old_key_ends_at_once(sandbox: PartnerClient) -> None:
    new, ends = rotate(sandbox)
    assert timedelta(hours=23, minutes=55) < ends - timezone.now() <= timedelta(hours=24)
    newest, ends = rotate(new, overlapHours=0)
    assert_error(new.get(PING), 401)
    assert_error(new.post(ROTATE, {}), 401)
    assert newest.get(PING).status == 200
    assert ends <= timezone.now()


def test_a_key_that_was_rotated_may_be_rotated_again_and_ends_no_later(sandbox: PartnerClient) -> None:
    _, first = rotate(sandbox, overlapHours=1)
    again, second = rotate(sandbox, overlapHours=100)
    assert first == second
    assert again.get(PING).status == 200


@pytest.mark.parametrize("times", [1, 2])
def test_the_new_key_keeps_the_end_that_staff_gave(sandbox_partner: Partner, transport: Transport, times: int) -> None:
    ends = timezone.now() + timedelta(days=40)
    issued = keys.issue(partner=sandbox_partner, expires_at=ends)
    client = PartnerClient(issued.api_key, issued.secret, transport)
    # The first rotation brings the old key's own end forward.
    for _ in range(times):
        new, old_ends = rotate(client, overlapHours=1)
    assert old_ends < ends
    assert keys.find(new.api_key).expires_at == ends
    newest, _ = rotate(new)
    assert keys.find(newest.api_key).expires_at == ends


def test_an_eleventh_key_is_a_conflict(sandbox: PartnerClient, sandbox_partner: Partner) -> None:
    others = [keys.issue(partner=sandbox_partner).record for _ in range(9)]
    keys.issue(partner=factories.PartnerFactory.create())
    assert "10 API keys" in assert_error(sandbox.post(ROTATE, {}), 409)["message"]
    assert keys.find(sandbox.api_key).expires_at is None
    assert "10 API keys" in refusal("issue_api_key", sandbox_partner.slug)
    assert "10 API keys" in refusal("rotate_api_key", others[0].prefix)
    keys.revoke(others[0])
    rotate(sandbox)
    # Without an overlap they are as many as before.
    client, _ = rotate(sandbox, overlapHours=0)
    assert client.get(PING).status == 200


def test_a_partner_makes_fifty_keys_a_day(
    sandbox: PartnerClient, sandbox_partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert self_service.MAX_KEYS_A_DAY == 50
    monkeypatch.setattr(self_service, "MAX_KEYS_A_DAY", 3)
    client = sandbox
    for _ in range(2):
        client, _ends = rotate(client, overlapHours=0)
    assert "3 API keys a day" in assert_error(client.post(ROTATE, {"overlapHours": 0}), 409)["message"]
    assert client.get(PING).status == 200
    # Staff may help a partner that has lost the last one.
    assert outcome("issue_api_key", sandbox_partner.slug)


def test_the_partner_is_locked_before_the_key(sandbox: PartnerClient) -> None:
    """As a revocation does: the other order could be a deadlock with one at the same time."""
    with CaptureQueriesContext(connection) as queries:
        rotate(sandbox)
    reads = [query["sql"] for query in queries if query["sql"].startswith("SELECT")]
    locks = [sql for sql in reads if sql.endswith(("FOR UPDATE", "FOR NO KEY UPDATE"))]
    assert "partners_partner" in locks[0]
    assert "partners_apikey" in locks[1]


def test_the_key_that_signed_is_rotated_alone(sandbox: PartnerClient, sandbox_partner: Partner) -> None:
    other = keys.issue(partner=sandbox_partner).record
    rotate(sandbox, overlapHours=0)
    other.refresh_from_db()
    assert other.expires_at is None


def test_errors_name_the_field(sandbox: PartnerClient) -> None:
    hours = {"range": (-1, 169, 10**30), "type": (1.0, "1", False, None)}
    bodies = [({"overlapHours": hour}, {"overlapHours": code}) for code, several in hours.items() for hour in several]
    for body, errors in (*bodies, ({"label": "x"}, {"label": "unknown"})):
        assert codes(sandbox.post(ROTATE, body)) == errors, body
    assert ApiKey.objects.count() == 1


def test_a_signature_is_accepted_once(sandbox: PartnerClient) -> None:
    timestamp = now()
    once, again = (sandbox.post(ROTATE, {}, timestamp=timestamp) for _ in range(2))
    assert once.status == 201
    assert assert_error(again, 401)["message"] == ALREADY_RECEIVED
    assert ApiKey.objects.count() == 2


def test_after_a_lost_answer_the_old_key_rotates_again(sandbox: PartnerClient) -> None:
    with pytest.raises(IncompleteRead):
        sandbox.post(ROTATE, {}, headers={"X-Sandbox-Fault": "lostAnswer"})
    new, _ = rotate(sandbox)
    assert new.get(PING).status == 200


def test_the_audit_log_names_who_rotated_what(sandbox: PartnerClient, sandbox_partner: Partner) -> None:
    old = keys.find(sandbox.api_key)
    new, _ = rotate(sandbox)
    changed, created = AuditEntry.objects.filter(actor_kind="partner").order_by("id")
    assert [(one.actor, one.action, one.object) for one in (changed, created)] == [
        (sandbox_partner.slug, "apiKey.changed", old.prefix),
        (sandbox_partner.slug, "apiKey.created", keys.find(new.api_key).prefix),
    ]
    assert created.detail["key"] == old.prefix


def listed(client: PartnerClient) -> list[dict[str, Any]]:
    response = client.get(LIST)
    assert response.status == 200, response.body
    assert set(response.json()) == {"items"}
    items: list[dict[str, Any]] = response.json()["items"]
    return items


def test_those_in_force_are_listed_the_newest_first(sandbox: PartnerClient, sandbox_partner: Partner) -> None:
    own = keys.find(sandbox.api_key)
    ends = timezone.now() + timedelta(days=3)
    staging = keys.issue(partner=sandbox_partner, label="staging", expires_at=ends).record
    for ended in (keys.issue(partner=sandbox_partner).record, keys.issue(partner=sandbox_partner).record):
        keys.revoke(ended)
    keys.rotate(keys.issue(partner=sandbox_partner, label="gone").record, overlap=timedelta())
    keys.issue(partner=factories.PartnerFactory.create(mode="sandbox"))
    items = listed(sandbox)
    named = [(one["label"], one["apiKeyPrefix"]) for one in items[1:]]
    assert named == [("staging", staging.prefix), (own.label, own.prefix)]
    assert items[0]["label"] == "gone"
    fields = {"apiKeyPrefix", "label", "createdAt", "lastUsedAt", "expiresAt"}
    assert all(set(one) == fields for one in items)
    assert datetime.fromisoformat(items[1]["expiresAt"]) == ends
    assert [items[1]["lastUsedAt"], items[2]["expiresAt"]] == [None, None]
    assert items[2]["lastUsedAt"] is not None


def test_another_key_is_revoked_from_the_next_request_on(sandbox: PartnerClient, sandbox_partner: Partner) -> None:
    issued = keys.issue(partner=sandbox_partner)
    other = PartnerClient(issued.api_key, issued.secret, sandbox.transport)
    assert other.get(PING).status == 200
    path = f"{LIST}/{issued.record.prefix}"
    response = sandbox.send("DELETE", path, key=KEY)
    assert (response.status, response.json()) == (200, {"apiKeyPrefix": issued.record.prefix})
    assert_error(other.get(PING), 401)
    assert_error(sandbox.send("DELETE", path), 404)
    assert [one["apiKeyPrefix"] for one in listed(sandbox)] == [keys.find(sandbox.api_key).prefix]
    entry = AuditEntry.objects.filter(actor_kind="partner").latest("id")
    assert (entry.actor, entry.action, entry.object) == (sandbox_partner.slug, "apiKey.changed", issued.record.prefix)


def test_the_key_that_signs_is_not_revoked(sandbox: PartnerClient) -> None:
    own = keys.find(sandbox.api_key)
    assert "signed" in assert_error(sandbox.send("DELETE", f"{LIST}/{own.prefix}"), 409)["message"]
    assert sandbox.get(PING).status == 200


def test_what_is_not_in_force_is_not_found(sandbox: PartnerClient, sandbox_partner: Partner) -> None:
    issued, ended = keys.issue(partner=sandbox_partner), keys.issue(partner=sandbox_partner).record
    foreign = keys.issue(partner=factories.PartnerFactory.create(mode="sandbox")).record
    keys.revoke(ended)
    for name in ("psi_test_key_AAAAAAAA", foreign.prefix, ended.prefix, issued.api_key):
        assert_error(sandbox.send("DELETE", f"{LIST}/{name}"), 404)
    in_force = {key.prefix for key in ApiKey.objects.all() if key.is_in_force}
    assert in_force == {sandbox.api_key[:21], issued.record.prefix, foreign.prefix}


# Simultaneous requests: committed rows, and a connection each


def test_one_of_two_rotations_at_once_without_an_overlap_ends_the_key(committed_sandbox: PartnerClient) -> None:
    found = at_once(2, lambda _: committed_sandbox.post(ROTATE, {"overlapHours": 0}).status)
    assert sorted(found) == [201, 401]
    assert keys.find(committed_sandbox.api_key).partner.api_keys.count() == 2


def test_of_two_keys_that_revoke_each_other_at_once_one_stays(committed_sandbox: PartnerClient) -> None:
    own = keys.find(committed_sandbox.api_key)
    issued = keys.issue(partner=own.partner)
    other = PartnerClient(issued.api_key, issued.secret, committed_sandbox.transport)
    requests = [(committed_sandbox, issued.record.prefix), (other, own.prefix)]

    def revoke(number: int) -> int:
        signer, prefix = requests[number]
        return signer.send("DELETE", f"{LIST}/{prefix}").status

    assert sorted(at_once(2, revoke)) == [200, 401]
    assert [one.is_in_force for one in own.partner.api_keys.all()].count(True) == 1
