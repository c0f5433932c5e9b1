"""The demo's walk through the API: each signed request and response is shown and checked."""

import json
import secrets
import shlex
import time
import uuid
from collections.abc import Callable
from http.client import responses
from typing import Any

from django.core.management.base import CommandError

from demo.seeding import PARTNER, profile
from transactions.models import DocumentType

# On a busy machine an event takes longer than the contract's 2 s.
MAX_BODY_SHOWN, EVENT_SECONDS, POLL_SECONDS = 520, 60, 0.25
BY = ("--by", "demo-reviewer")
MOVED = {"addressLine1": "22 King St E", "postalCode": "M5C 1G3", "city": "Toronto", "province": "ON"}


class Walk:
    """Requests to a running service by `manage`, which runs a command and returns its output. show: prints a line."""

    def __init__(self, manage: Callable[..., str], show: Callable[[str], None]) -> None:
        self.manage, self.show = manage, show
        self.external_id, self.steps, self.feed = f"walk-{secrets.token_hex(4)}", 0, "/v1/events?limit=100"
        self.path = f"/v1/users/{self.external_id}"

    def run(self, user: str, conversions: int) -> None:
        """Take the steps. user: with documents and several pages of this many conversions; `deliver_events` runs."""
        body, key = profile(1) | {"externalId": self.external_id}, ("--idempotency-key", str(uuid.uuid4()))
        self.step("The first signed call", 200, "GET", "/v1/ping")
        first = self.step("Create a user, with an Idempotency-Key", 201, "POST", "/v1/users", body, *key)
        self.check(first["status"] == "pendingCompliance", "a new user is pendingCompliance")
        again = self.step("A retry with this key gets the first response", 201, "POST", "/v1/users", body, *key)
        self.check(again == first, "the response is replayed")
        self.step("The same externalId without the key is a conflict", 409, "POST", "/v1/users", body)
        self.step("Change the user's address", 200, "PATCH", self.path, MOVED)
        errors = self.step("An error names the invalid field", 400, "PATCH", self.path, {"email": "nobody"})
        self.check([one["field"] for one in errors["fieldErrors"]] == ["email"], "fieldErrors names email")
        question = ("--code", "addressUnclear", "--field", "addressLine1", "--message", "Which apartment?")
        self.command("request_information", PARTNER, self.external_id, *question, *BY)
        [requirement] = self.step("The partner reads what compliance needs", 200, "GET", self.path)["requirements"]
        self.check(requirement["state"] == "open", "the requirement is open")
        [requirement] = self.step("An update answers it", 200, "PATCH", self.path, MOVED)["requirements"]
        self.check(requirement["state"] == "submitted", "the requirement is submitted")
        self.command("change_user_status", PARTNER, self.external_id, "active", "--reason", "Confirmed.", *BY)
        decided = self.step("The partner reads compliance's decision", 200, "GET", self.path)
        answer = (decided["status"], decided["statusReason"], decided["requirements"])
        self.check(answer == ("active", "verified", []), "the user is active, and nothing more is needed")
        page = target = f"/v1/users/{user}/transactions?limit=10"
        seen: list[str] = []
        while target:
            data = self.step("A page of conversions", 200, "GET", target)
            seen += [item["conversionId"] for item in data["items"]]
            target = data["nextCursor"] and f"{page}&cursor={data['nextCursor']}"
        self.check(len(seen) == len(set(seen)) == conversions > 10, "each conversion once, on several pages")  # noqa: PLR2004
        documents = self.step("The user's documents", 200, "GET", f"/v1/users/{user}/documents")["items"]
        self.check({one["type"] for one in documents} == set(DocumentType.values), "there is a document of each type")
        for one in documents:
            file = self.step(f"{one['title']}: the file", 200, "GET", f"/v1/users/{user}/documents/{one['documentId']}")
            self.check(file.startswith(f"({one['sizeBytes']} bytes "), "its size is that of the list")
        self.step("A request signed with another secret is refused", 401, "GET", "/v1/ping", None, "--secret", "other")
        self.read_feed("The feed of events has the decision; the partner keeps the cursor", "active")

    def read_feed(self, title: str, status: str) -> None:
        """Read the feed on until it has the user's change to this status."""
        deadline, wanted = time.monotonic() + EVENT_SECONDS, {"externalId": self.external_id, "status": status}
        while time.monotonic() < deadline:
            target, page = self.feed, json.loads(self.manage("call", "GET", self.feed, "--json"))["body"]
            self.feed = f"/v1/events?limit=100&cursor={page['nextCursor']}"
            if event := next((one for one in page["items"] if wanted.items() <= one["data"].items()), None):
                self.steps += 1
                self.show(f"\n{self.steps}. {title}\n   > GET {target}\n   < … {json.dumps(event)}")
                return
            time.sleep(0 if page["hasMore"] else POLL_SECONDS)
        raise CommandError(f"Step {self.steps + 1} failed: the event is not in the feed.")

    def command(self, *arguments: str) -> None:
        """Show and run a command of compliance."""
        self.show(f"\n   $ manage.py {shlex.join(arguments)}\n   {self.manage(*arguments).strip()}")

    def step(self, title: str, status: int, method: str, target: str, data: Any = None, *options: str) -> Any:
        """Send a request, and show it with its response, which has this status. Returns the JSON, or a file's size."""
        self.steps += 1
        body = "" if data is None else json.dumps(data)
        self.show(f"\n{self.steps}. {title}\n   > {' '.join((method, target, *options))}" + (body and f"\n   > {body}"))
        response = json.loads(self.manage("call", method, target, "--data", body, *options, "--json"))
        content = response["body"]
        shown = content if isinstance(content, str) else json.dumps(content)[:MAX_BODY_SHOWN]
        self.show(f"   < {response['status']} {responses[response['status']]}\n   < {shown}")
        self.check(response["status"] == status, f"{method} {target} has the status {status}")
        return content

    def check(self, holds: bool, what: str) -> None:  # noqa: FBT001 - reads as a sentence
        """Raises CommandError unless this holds."""
        if not holds:
            raise CommandError(f"Step {self.steps} failed: {what}.")
