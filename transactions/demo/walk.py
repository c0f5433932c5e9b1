"""The demo's walk through the API: each signed request and response is shown and checked."""

import hashlib
import json
import secrets
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import responses
from typing import Any

from standardwebhooks import Webhook, WebhookVerificationError

from partners.management.commands.call import Client, Response
from transactions.demo.receiver import Received, Receiver
from transactions.models import DocumentType

MAX_BODY_SHOWN = 520
# On a busy machine an event takes longer than the contract's 2 s.
EVENT_SECONDS = 60
POLL_SECONDS = 0.25
NEW_USER: dict[str, Any] = {
    "email": "ada@example.com",
    "firstName": "Ada",
    "lastName": "Byron",
    "dateOfBirth": "1990-12-10",
    "addressLine1": "100 King St W",
    "addressLine2": "Suite 200",
    "city": "Toronto",
    "postalCode": "M5X 1A9",
    "province": "ON",
    "country": "CA",
    "occupation": "Engineer",
    "isCiroAffiliate": False,
}
MOVED_HOUSE = {"addressLine1": "1 Elgin St", "city": "Ottawa", "postalCode": "K1P 5W1"}


class UnexpectedResponseError(Exception):
    """A response is not what the contract says; the text names the step."""


@dataclass
class Walk:
    """Signed requests to a running service.

    other_secret: a client with the same key and another secret. user_with_conversions: an externalId with documents and
    several pages of conversions, and their number. decide: moves a user, by externalId, to a status, as compliance.
    ask: has compliance ask about its address. show: prints a line.
    """

    client: Client
    other_secret: Client
    user_with_conversions: tuple[str, int]
    decide: Callable[[str, str], None]
    ask: Callable[[str], None]
    show: Callable[[str], None]
    external_id: str = field(default_factory=lambda: f"walk-{secrets.token_hex(4)}")
    steps: int = 0
    # The partner reads the feed of events on from here.
    feed: str = "/v1/events?limit=100"
    last_body: bytes = b""

    def run(self) -> None:
        """Take the steps of requests. Raises UnexpectedResponseError at the first wrong response."""
        self.step("The first signed call")
        self.expect(200, "GET", "/v1/ping")
        self.create()
        self.update()
        self.page()
        self.download()
        self.step("A request signed with another secret is refused")
        self.expect(401, "GET", "/v1/ping", client=self.other_secret)

    def create(self) -> None:
        """A create, its replay, a conflict, and a minor."""
        body, key = NEW_USER | {"externalId": self.external_id}, str(uuid.uuid4())
        self.step("Create a user, with an Idempotency-Key")
        first = self.expect(201, "POST", "/v1/users", body, key=key)
        self.check(first.json()["status"] == "pendingCompliance", "a new user is pendingCompliance")
        self.step("A retry with this key, as after a timeout, gets the first response")
        again = self.expect(201, "POST", "/v1/users", body, key=key)
        self.check(again.body == first.body and bool(again.headers["Idempotent-Replayed"]), "the response is replayed")
        self.step("The same externalId without the key is a conflict")
        self.expect(409, "POST", "/v1/users", body)
        self.step("A user under 18 is refused")
        minor = {"externalId": f"{self.external_id}-minor", "dateOfBirth": "2015-06-01"}
        self.expect(422, "POST", "/v1/users", body | minor)

    def update(self) -> None:
        """An update, an invalid one, what compliance needs with the answer, and its decision."""
        path = f"/v1/users/{self.external_id}"
        self.step("Change the user's address")
        self.expect(200, "PATCH", path, MOVED_HOUSE)
        self.step("An error names the invalid field")
        errors = self.expect(400, "PATCH", path, {"email": "nobody"}).json()["fieldErrors"]
        self.check([error["field"] for error in errors] == ["email"], "fieldErrors names email")
        self.step(
            "Compliance needs something (manage.py request_information, or the back office); the partner reads what"
        )
        self.ask(self.external_id)
        [requirement] = self.expect(200, "GET", path).json()["requirements"]
        self.check(requirement["state"] == "open", "the requirement is open")
        self.step("An update that has all of its fields answers it")
        answer = {name: MOVED_HOUSE[name] for name in requirement["fields"]}
        [requirement] = self.expect(200, "PATCH", path, answer).json()["requirements"]
        self.check(requirement["state"] == "submitted", "the requirement is submitted")
        self.step("Compliance decides (manage.py change_user_status, or the back office); the partner reads the status")
        self.decide(self.external_id, "active")
        user = self.expect(200, "GET", path).json()
        self.check((user["status"], user["statusReason"]) == ("active", "verified"), "the user is active, verified")
        self.check(user["requirements"] == [], "nothing more is needed")

    def page(self) -> None:
        """Every page of a user's conversions."""
        external_id, total = self.user_with_conversions
        first_page = f"/v1/users/{external_id}/transactions?limit=10"
        seen, pages, target = set[str](), 0, first_page
        while target:
            pages += 1
            self.step(f"Conversions, page {pages}")
            data = self.expect(200, "GET", target).json()
            seen |= {item["conversionId"] for item in data["items"]}
            target = f"{first_page}&cursor={data['nextCursor']}" if data["nextCursor"] else ""
        self.check(len(seen) == total and pages > 1, f"{total} conversions, each once")

    def download(self) -> None:
        """A user's documents, each file compared with its entry in the list."""
        path = f"/v1/users/{self.user_with_conversions[0]}/documents"
        self.step("The user's documents")
        documents = self.expect(200, "GET", path).json()["items"]
        self.check({one["type"] for one in documents} == set(DocumentType.values), "there is a document of each type")
        for one in documents:
            self.step(f"{one['title']}: the file has the SHA-256 of the list")
            file = self.expect(200, "GET", f"{path}/{one['documentId']}")
            self.show(f"   < Content-Disposition: {file.headers['Content-Disposition']}")
            self.check(hashlib.sha256(file.body).hexdigest() == one["sha256"], "the SHA-256 is that of the list")
            self.check(file.headers["Content-Type"] == one["contentType"], "the content type is that of the list")

    def run_events(self, receiver: Receiver, add_webhook: Callable[[str], str]) -> None:
        """Take the steps of events, after the others, while `deliver_events` runs. Raises UnexpectedResponseError.

        add_webhook: sets up an endpoint for a URL and returns its secret.
        """
        self.step("The feed of events has the decision above; the partner keeps the cursor")
        self.read_feed("active")
        self.step("An endpoint for webhooks (manage.py add_webhook, or the back office)")
        webhook = Webhook(add_webhook(receiver.url))
        self.step("Compliance decides again; the feed goes on from the cursor with the event")
        self.decide(self.external_id, "suspended")
        event = self.read_feed("suspended")
        self.step("The same event arrives at the endpoint, and standardwebhooks verifies its signature")
        received = receiver.wait_for(event["eventId"], seconds=EVENT_SECONDS)
        if received is None:
            raise UnexpectedResponseError(f"Step {self.steps} failed: no webhook arrived in {EVENT_SECONDS} s.")
        self.show(f"   > POST {receiver.url}")
        for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
            self.show(f"   > {name}: {received.headers[name]}")
        self.show(f"   > {_shortened(received.body)}")
        self.check(_is_valid(webhook, received), "the signature is valid")
        self.show("   < 204 No Content")
        self.check(received.json() == event, "the webhook's body is the event of the feed")
        altered = received._replace(body=received.body.replace(b"suspended", b"active"))
        self.check(not _is_valid(webhook, altered), "an altered body is not valid")

    def run_two(self, reinstate: Callable[[str], None]) -> None:
        """Take the step of two people, after those of events. Raises UnexpectedResponseError.

        reinstate: has one person propose to reinstate a suspended user, and another approve it.
        """
        self.step("Reinstating takes two people: one proposes, another approves (manage.py, or the back office)")
        reinstate(self.external_id)
        answer = self.expect(200, "GET", f"/v1/users/{self.external_id}").json()
        self.check(answer["status"] == "active", "the user is active again")
        self.read_feed("active")

    def read_feed(self, status: str) -> dict[str, Any]:
        """Read the feed on until it has the user's change to this status; show that page and return the event."""
        deadline = time.monotonic() + EVENT_SECONDS
        while time.monotonic() < deadline:
            target, page = self.feed, self.client.send("GET", self.feed).json()
            self.feed = f"/v1/events?limit=100&cursor={page['nextCursor']}"
            for event in page["items"]:
                if event["data"] | {"externalId": self.external_id, "status": status} == event["data"]:
                    self.show(f"   > GET {target}\n   < 200 OK\n   < … {json.dumps(event)}")
                    return dict(event)
            if not page["hasMore"]:
                time.sleep(POLL_SECONDS)
        raise UnexpectedResponseError(f"Step {self.steps} failed: the event is not in the feed.")

    def step(self, title: str) -> None:
        """Begin a step."""
        self.steps += 1
        self.show(f"\n{self.steps}. {title}")

    def expect(
        self,
        status: int,
        method: str,
        target: str,
        data: object = None,
        *,
        key: str = "",
        client: Client | None = None,
    ) -> Response:
        """Send a request, show it and its response. Raises UnexpectedResponseError for another status."""
        body = b"" if data is None else json.dumps(data).encode()
        self.show(f"   > {method} {target}" + (f"   Idempotency-Key: {key}" if key else ""))
        if body:
            self.show("   > (the same body)" if body == self.last_body else f"   > {_shortened(body)}")
            self.last_body = body
        response = (client or self.client).send(method, target, body, key)
        replayed = "   Idempotent-Replayed: true" if response.headers["Idempotent-Replayed"] else ""
        self.show(f"   < {response.status} {responses[response.status]}{replayed}")
        content_type = response.headers["Content-Type"]
        is_json = content_type == "application/json"
        self.show(f"   < {_shortened(response.body) if is_json else f'({len(response.body)} bytes of {content_type})'}")
        self.check(response.status == status, f"{method} {target} has the status {status}")
        return response

    def check(self, holds: bool, what: str) -> None:  # noqa: FBT001 - reads as a sentence
        """Raises UnexpectedResponseError unless this holds."""
        if not holds:
            raise UnexpectedResponseError(f"Step {self.steps} failed: {what}.")


def _is_valid(webhook: Webhook, received: Received) -> bool:
    """Whether the signature is valid and recent."""
    try:
        return bool(webhook.verify(received.body, received.headers))
    except WebhookVerificationError:
        return False


def _shortened(body: bytes) -> str:
    text = body.decode()
    return text if len(text) <= MAX_BODY_SHOWN else f"{text[:MAX_BODY_SHOWN]}… ({len(text):,} characters)"
