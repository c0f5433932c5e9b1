"""A suspicion must not reach the partner: contract, section 13.

Two users live the same life, one under the codes of a suspicion, the other under innocent ones of the same rows; one
has matches, ratings and requests in its file, the other has none. All that their partners can observe is compared, but
for ids, times and signatures.
"""

import re
from contextlib import suppress
from typing import Any

import hypothesis.strategies as st
import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings

from core.refusals import RefusedError
from events.models import WebhookDelivery
from events.webhooks import deliveries
from events.webhooks.sending import attempt_headers
from tests import factories
from tests.support.client import PartnerClient, Response, in_process
from tests.support.events import place_events
from users import requirements
from users.decisions import compliance
from users.file import entries
from users.models import Requirement, Status, User

# By status: codes that tell of a suspicion, and what an innocent user has in their place.
SUSPICIOUS = {
    Status.REJECTED: ("listed", "fraudSuspected"),
    Status.SUSPENDED: ("unusualActivity", "fraudSuspected", "listed"),
    Status.CLOSED: ("fraudConfirmed", "listed"),
}
INNOCENT = {Status.REJECTED: "notServed", Status.SUSPENDED: "other", Status.CLOSED: "notServed"}
AT_LAST = [f"/v1/users/ada/{name}" for name in ("transactions", "documents", "verifications")]
SECRETS = ["whsec_" + "c2VjcmV0" * 6]

# What staff record in the file of the one alone.
FILED: dict[str, dict[str, Any]] = {
    "screening": {"list": "UN", "listDate": "2026-01-01", "result": "possibleMatch", "reference": "QDi.1"},
    "riskRating": {"rating": "high", "reason": "Cash.", "reviewOn": "2026-06-01"},
    "personRequest": {"request": "complaint", "receivedOn": "2026-01-01", "identityCheck": "By phone."},
}
ENDS: dict[str, dict[str, Any]] = {
    "screening": {"resolution": "confirmed", "note": "The same birth date."},
    "personRequest": {"outcome": "Answered.", "closedOn": "2026-02-01"},
}
VERIFICATION = {"method": "creditFile", "verifiedOn": "2026-01-15", "source": "A bureau", "reference": "1"}

PAIRS = [(status, code) for status, codes in SUSPICIOUS.items() for code in codes]
STEP = st.one_of(
    st.tuples(st.just("suspect"), st.sampled_from(PAIRS)),
    st.tuples(st.just("clear"), st.sampled_from([Status.ACTIVE, Status.PENDING_COMPLIANCE])),
    st.sampled_from([("ask", None), ("note", None), ("answer", None), ("close", None), ("confirm", None)]),
    st.tuples(st.just("file"), st.sampled_from([*FILED])),
    st.sampled_from([("end", None), ("verify", None)]),
)


class Life:
    """A user of a partner of its own, and all that this partner has observed."""

    def __init__(self, *, is_suspicious: bool) -> None:
        self.is_suspicious = is_suspicious
        partner = factories.PartnerFactory.create()
        self.client: PartnerClient = factories.client_of(partner, in_process)
        self.endpoint = factories.WebhookEndpointFactory.create(partner=partner, url="https://hooks.example.com/x")
        self.staff = factories.StaffFactory.create()
        self.client.post("/v1/users", factories.user_body(externalId="ada"))
        self.user = User.objects.get(partner=partner)
        self.observed: list[Any] = []
        self.cursor = ""

    def live(self, step: str, value: Any) -> None:
        with suppress(RefusedError):
            getattr(self, step)(value)
        self.observe()

    def suspect(self, move: tuple[Status, str]) -> None:
        status, code = move
        self.decide(status, code if self.is_suspicious else INNOCENT[status])
        self.see(self.client.get(f"/v1/users?status={status}"))
        if self.is_suspicious:
            compliance.add_note(user=self.user, by=self.staff, text="Fraud ring of the north.")

    def clear(self, status: Status) -> None:
        if status == Status.PENDING_COMPLIANCE:
            code = "newInformation" if self.is_suspicious else "rejectedInError"
        else:
            self.user.refresh_from_db()
            suspicious = "cleared" if self.user.status == Status.SUSPENDED else "riskFlagsExplained"
            code = suspicious if self.is_suspicious else "verified"
        self.decide(status, code)

    def decide(self, status: Status, code: str) -> None:
        reason = "Named in the list of May." if self.is_suspicious else "As agreed."
        compliance.decide(
            compliance.Decision(user=self.user, to_status=status, by=self.staff, reason=reason, reason_code=code)
        )

    def file(self, kind: str) -> None:
        if self.is_suspicious:
            born = self.user.date_of_birth
            entries.record(user_id=self.user.pk, born=born, kind=kind, data=FILED[kind], by=self.staff)

    def end(self, _: None) -> None:
        for entry in self.user.file_entries.filter(is_open=True, kind__in=ENDS):
            entries.end(entry_id=entry.pk, data=ENDS[entry.kind], by=self.staff)

    def verify(self, _: None) -> None:
        self.see(self.client.post("/v1/users/ada/verifications", VERIFICATION))

    def ask(self, _: None) -> None:
        requirements.open_requirement(
            user=self.user, code="addressUnclear", fields=["city"], message="Which city?", by=self.staff
        )

    def close(self, _: None) -> None:
        if (open_one := self.oldest()) is not None:
            note = "Report sent." if self.is_suspicious else "Clear."
            requirements.close_requirement(requirement_id=open_one.pk, by=self.staff, note=note)

    def note(self, _: None) -> None:
        if (open_one := self.oldest()) is not None:
            path = f"/v1/users/ada/requirements/{open_one.pk}/response"
            self.see(self.client.post(path, {"note": "An answer."}))

    def answer(self, _: None) -> None:
        self.see(self.client.patch("/v1/users/ada", {"city": "Ottawa"}))

    def confirm(self, _: None) -> None:
        self.see(self.client.patch("/v1/users/ada", {"city": User.objects.get(pk=self.user.pk).city}))

    def oldest(self) -> Requirement | None:
        return requirements.not_closed(self.user.pk).first()

    def observe(self) -> None:
        """Read what moves, and receive what is sent."""
        for path in ("/v1/users", "/v1/users/ada"):
            self.see(self.client.get(path))
        place_events()
        feed = self.client.get(f"/v1/events?limit=100{self.cursor}")
        self.cursor = f"&cursor={feed.json()['nextCursor']}"
        self.see(feed)
        while sent := deliveries.lease(limit=10):
            for lease in sent:
                assert lease.endpoint_id == self.endpoint.pk
                at = timezone.now()
                headers = attempt_headers(event_id=lease.event_id, at=at, body=lease.body, secrets=SECRETS)
                self.observed.append((lease.attempt_count, sorted(headers), without_chance(lease.body)))
                WebhookDelivery.objects.filter(pk=lease.delivery_id).delete()

    def see(self, response: Response) -> None:
        headers = {name: value for name, value in response.headers.items() if not name.startswith("RateLimit")}
        self.observed.append((response.status, without_chance(str(headers)), without_chance(response.body.decode())))


def without_chance(text: str) -> str:
    """Without ids, times and cursors, which differ for each user, but with their lengths."""
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uuid>", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.(\d+)Z", lambda found: f"<time {len(found[1])}>", text)
    return re.sub(r'"nextCursor":"\d{16}"', '"nextCursor":"<position>"', text)


def lived(steps: list[tuple[str, Any]]) -> tuple[Life, Life]:
    """The suspicious life and the innocent one, which look alike."""
    suspicious, innocent = Life(is_suspicious=True), Life(is_suspicious=False)
    for life in (suspicious, innocent):
        for step, value in steps:
            life.live(step, value)
        for path in AT_LAST:
            life.see(life.client.get(path))
    assert suspicious.observed == innocent.observed
    # Both have lived.
    assert len(suspicious.observed) >= 3 * len(steps) + len(AT_LAST)
    return suspicious, innocent


@pytest.mark.django_db
@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(STEP, min_size=1, max_size=6))
def test_a_suspicion_and_an_innocent_reason_look_alike(steps: list[tuple[str, Any]]) -> None:
    lived(steps)


@pytest.mark.django_db
def test_each_pair_byte_by_byte() -> None:
    """A user is closed once: the second life is short."""
    steps: list[tuple[str, Any]] = [("file", kind) for kind in FILED]
    for code in SUSPICIOUS[Status.REJECTED]:
        steps += [("suspect", (Status.REJECTED, code)), ("verify", None), ("clear", Status.PENDING_COMPLIANCE)]
    for code in SUSPICIOUS[Status.SUSPENDED]:
        steps += [("clear", Status.ACTIVE), ("suspect", (Status.SUSPENDED, code)), ("answer", None)]
    decided: tuple[set[Any], set[Any]] = (set(), set())
    for code in SUSPICIOUS[Status.CLOSED]:
        steps += [("clear", Status.ACTIVE), ("ask", None), ("end", None), ("suspect", (Status.CLOSED, code))]
        for life, found in zip(lived(steps), decided, strict=True):
            found |= {*life.user.status_changes.values_list("to_status", "reason_code")}
            events = [seen[2] for seen in life.observed if "user.statusChanged" in seen[2]]
            # In the feed and by a webhook.
            assert len(events) == 2 * life.user.status_changes.count()
        steps = [("verify", None), ("file", "screening"), ("ask", None), ("answer", None)]
    assert {*PAIRS} <= decided[0]
    assert {*INNOCENT.items()} <= decided[1]
    assert not {*PAIRS} & decided[1]


@pytest.mark.django_db
def test_the_file_moves_no_time_that_a_partner_reads() -> None:
    life = Life(is_suspicious=True)
    before = life.client.get("/v1/users/ada").body
    for kind in FILED:
        life.file(kind)
    life.end(None)
    assert life.user.file_entries.count() == len(FILED) + len(ENDS)
    assert life.client.get("/v1/users/ada").body == before
    assert life.client.get("/v1/events").json()["items"] == []
