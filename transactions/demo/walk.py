"""The walk: what a partner's developer does first, each request and answer shown and checked."""

import hashlib
import json
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from partners.client import Reply, SignedClient
from transactions.models import DocumentType

LONGEST_BODY_SHOWN = 600


class WrongAnswerError(Exception):
    """The service did not answer as the contract says; the text says where."""


@dataclass
class Walk:
    """Sends signed requests to a running service and shows them.

    user_with_conversions: an externalId with more conversions than a page holds, and how many; it has documents too.
    approve: makes the user of an externalId active, as compliance would.
    """

    client: SignedClient
    user_with_conversions: tuple[str, int]
    approve: Callable[[str], None]
    show: Callable[[str], None]
    external_id: str = field(default_factory=lambda: f"walk-{secrets.token_hex(4)}")
    steps: int = 0

    def run(self) -> None:
        """The whole walk. Raises WrongAnswerError at the first answer that is not right."""
        self.first_call()
        self.create()
        self.update()
        self.decide()
        self.page()
        self.download()
        self.refuse()

    def first_call(self) -> None:
        """GET /v1/ping."""
        self.step("The first signed call that everybody makes")
        self.expect(200, "GET", "/v1/ping")

    def create(self) -> None:
        """A user, the same again, a replay, and somebody too young."""
        body, key = self.profile(), str(uuid.uuid4())
        self.step("A user is created, under an Idempotency-Key")
        first = self.expect(201, "POST", "/v1/users", body, key=key)
        self.check(first.json()["status"] == "pendingCompliance", "a new user is pendingCompliance")
        self.step("The same request again, after a time-out say: the first answer comes back")
        again = self.expect(201, "POST", "/v1/users", body, key=key)
        self.check(again.body == first.body and again.header("Idempotent-Replayed") == "true", "the answer is replayed")
        self.step("The same externalId without that key is a conflict")
        self.expect(409, "POST", "/v1/users", body)
        self.step("Nobody under 18")
        self.expect(422, "POST", "/v1/users", body | {"externalId": f"{self.external_id}-young", "dateOfBirth": YOUNG})

    def update(self) -> None:
        """New address; a field that is wrong."""
        self.step("The user has moved")
        path = f"/v1/users/{self.external_id}"
        self.expect(200, "PATCH", path, {"addressLine1": "1 Elgin St", "city": "Ottawa", "postalCode": "k1p5w1"})
        self.step("A field that is wrong is named")
        wrong = self.expect(400, "PATCH", path, {"email": "nobody"}).json()
        self.check([f["field"] for f in wrong["fieldErrors"]] == ["email"], "fieldErrors names email")

    def decide(self) -> None:
        """Compliance makes the user active; the partner learns it."""
        self.step("Compliance decides (manage.py change_user_status, or the back office); the partner asks")
        self.approve(self.external_id)
        status = self.expect(200, "GET", f"/v1/users/{self.external_id}").json()["status"]
        self.check(status == "active", "the user is active")

    def page(self) -> None:
        """A user's conversions, page by page, to the end."""
        external_id, total = self.user_with_conversions
        path, query, seen, pages = f"/v1/users/{external_id}/transactions", "limit=10", set[str](), 0
        while True:
            pages += 1
            self.step(f"Conversions, page {pages}")
            data = self.expect(200, "GET", f"{path}?{query}").json()
            seen |= {item["conversionId"] for item in data["items"]}
            if data["nextCursor"] is None:
                break
            query = f"limit=10&cursor={data['nextCursor']}"
        self.check(len(seen) == total and pages > 1, f"{total} conversions, each once")

    def download(self) -> None:
        """A user's documents, and the file of each, compared with what the list says of it."""
        path = f"/v1/users/{self.user_with_conversions[0]}/documents"
        self.step("The user's documents")
        documents = self.expect(200, "GET", path).json()["items"]
        self.check({one["type"] for one in documents} == set(DocumentType.values), "there is a paper of each type")
        for one in documents:
            self.step(f"{one['title']}: the file has the SHA-256 of the list")
            file = self.expect(200, "GET", f"{path}/{one['documentId']}")
            self.show(f"   < Content-Disposition: {file.header('Content-Disposition')}")
            self.check(hashlib.sha256(file.body).hexdigest() == one["sha256"], "the SHA-256 is that of the list")
            self.check(file.header("Content-Type") == one["contentType"], "the content type is that of the list")

    def refuse(self) -> None:
        """A signature made with another secret."""
        self.step("A bad signature is refused")
        stranger = replace(self.client, secret="psi_secret_of_somebody_else")  # noqa: S106 - nobody has it
        self.expect(401, "GET", "/v1/ping", client=stranger)

    def profile(self) -> dict[str, Any]:
        """The body of a create."""
        return {
            "externalId": self.external_id,
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

    def step(self, title: str) -> None:
        """Begins a step of the walk."""
        self.steps += 1
        self.show(f"\n{self.steps}. {title}")

    def expect(
        self,
        status: int,
        method: str,
        target: str,
        data: object = None,
        *,
        key: str | None = None,
        client: SignedClient | None = None,
    ) -> Reply:
        """Sends a request, shows it with its answer, and gives the answer. Raises WrongAnswerError."""
        body = b"" if data is None else json.dumps(data).encode()
        self.show(f"   > {method} {target}" + (f"   Idempotency-Key: {key}" if key else ""))
        if body:
            self.show(f"   > {_short(body)}")
        reply = (client or self.client).send(method, target, body, key)
        replayed = "   Idempotent-Replayed: true" if reply.header("Idempotent-Replayed") else ""
        self.show(f"   < {reply.status} {reply.reason}{replayed}")
        self.show(f"   < {_shown(reply)}")
        self.check(reply.status == status, f"{method} {target} answers {status}")
        return reply

    def check(self, right: bool, what: str) -> None:  # noqa: FBT001 - reads as a sentence
        """Raises WrongAnswerError unless `right`."""
        if not right:
            raise WrongAnswerError(f"step {self.steps}: not so: {what}")


YOUNG = "2015-06-01"


def _shown(reply: Reply) -> str:
    content_type = reply.header("Content-Type")
    return _short(reply.body) if content_type == "application/json" else f"({len(reply.body)} bytes of {content_type})"


def _short(body: bytes) -> str:
    text = body.decode()
    return text if len(text) <= LONGEST_BODY_SHOWN else f"{text[:LONGEST_BODY_SHOWN]}… ({len(text)} characters)"
