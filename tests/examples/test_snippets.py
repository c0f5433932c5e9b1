"""The guide's snippets, run as they are printed, beside the example that they import."""

import itertools
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from partners.models import Partner
from tests import factories
from tests.examples.calling import Access
from tests.examples.gateway import Fault, Gateway
from tests.examples.languages import BASH, EXAMPLES, NODE, PROGRAMS, PYTHON, ROOT, Language, Workshop, require
from tests.support.client import PartnerClient
from tests.support.documents import NOON, add_document
from users import requirements
from users.models import Status, User, UserEvent

# Not UTF-8, with NULs, and with line feeds at its end.
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + bytes(range(256)) * 40 + b"\0%%EOF\n\n"


class Snippets:
    """Runs the snippets of one language through a gateway."""

    def __init__(self, place: Workshop, suffix: str, access: Access, gateway: Gateway) -> None:
        language: Language
        language, self.program = PROGRAMS[suffix]
        self.place, self.suffix, self.access, self.gateway = place.built(language), suffix, access, gateway
        if language is BASH:
            require("jq")

    def run(
        self, name: str, settings: Mapping[str, str] | None = None, /, **replaced: str
    ) -> tuple[int, list[str], str]:
        """Exit status, lines printed, and complaint. replaced: other text in the snippet, by its present text."""
        text = (EXAMPLES / "snippets" / f"{name}{self.suffix}").read_text()
        for old, new in replaced.items():
            assert old in text
            text = text.replace(old, new)
        (self.place.folder / f"{name}{self.suffix}").write_text(text)
        environment = self.access.environment(**({"PSI_BASE_URL": self.gateway.url} | dict(settings or {})))
        done = self.place.run((self.program, f"{name}{self.suffix}"), environment)
        return done.returncode, done.stdout.decode().splitlines(), done.stderr.decode()


@pytest.fixture(params=PROGRAMS)
def snippets(place: Workshop, request: pytest.FixtureRequest, access: Access, gateway: Gateway) -> Snippets:
    return Snippets(place, request.param, access, gateway)


def test_ping(snippets: Snippets, committed_partner: Partner) -> None:
    exit_status, (line,), complaint = snippets.run("ping")
    assert (exit_status, complaint) == (0, "")
    assert committed_partner.slug in line


def test_create_user(snippets: Snippets, client: PartnerClient) -> None:
    exit_status, (line,), complaint = snippets.run("create_user")
    created = client.get("/v1/users/cust-1001").json()
    assert (exit_status, complaint) == (0, "")
    assert line == f"cust-1001 is pendingCompliance, userId {created['userId']}"
    assert [bool(headers["idempotency-key"]) for headers in snippets.gateway.seen] == [True]


def test_create_user_prints_the_error(snippets: Snippets, user: User) -> None:
    exit_status, lines, complaint = snippets.run("create_user")
    assert (exit_status, lines) == (1, [])
    assert re.fullmatch(r"conflict: .+ Request [0-9a-f-]{36}\.\n", complaint)


def test_create_user_prints_the_invalid_fields(snippets: Snippets, user: User) -> None:
    exit_status, lines, complaint = snippets.run("create_user", **{"M5X 1A9": "none", "1990-12-10": "1990"})
    assert exit_status == 1
    assert [line.partition(": ")[0] for line in lines] == ["dateOfBirth", "postalCode"]
    assert complaint.startswith("bad_request: ")


def test_update_user(snippets: Snippets, user: User) -> None:
    exit_status, (line,), complaint = snippets.run("update_user")
    user.refresh_from_db()
    assert (exit_status, "cust-1001" in line, complaint) == (0, True, "")
    assert (user.address_line1, user.city, user.postal_code) == ("1 Elgin St", "Ottawa", "K1P 5W1")


def test_answer_requirements_by_an_update_and_by_a_note(snippets: Snippets, user: User) -> None:
    by = factories.StaffFactory.create(role="reviewer")
    factories.decide(user, Status.SUSPENDED)
    asked = {
        "addressUnclear": ({"postal_code", "address_line1"}, "Which apartment is it?"),
        "sourceOfFunds": ((), ""),
        "occupationUnclear": ({"occupation"}, ""),
    }
    for code, (fields, message) in asked.items():
        requirements.open_requirement(user=user, code=code, fields=fields, message=message, by=by)
    exit_status, lines, complaint = snippets.run("answer_requirements")
    assert (exit_status, complaint) == (0, "")
    assert lines[0] == "cust-1001 is suspended (underReview)"
    printed = [line.partition(" until ")[0].rstrip() for line in lines[1:]]
    assert printed == [
        *("addressUnclear open", "  Which apartment is it? addressLine1, postalCode", "sourceOfFunds open"),
        *("  no message", "occupationUnclear open", "  no message occupation", "1 open"),
    ]
    user.refresh_from_db()
    assert (user.address_line1, user.occupation) == ("100 King St W, Apt 5", "Engineer")
    responses = user.requirements.order_by("created_at").values_list("code", "responses__note")
    assert list(responses) == [
        ("addressUnclear", ""),
        ("sourceOfFunds", "The income is the salary of the employer on file."),
        ("occupationUnclear", None),
    ]
    # Once more: what was answered is not answered again.
    assert snippets.run("answer_requirements")[1][-1] == "1 open"
    assert user.requirements.filter(responses__isnull=False).count() == 2


def test_answer_requirements_of_a_user_without_any(snippets: Snippets, user: User) -> None:
    assert snippets.run("answer_requirements") == (
        0,
        ["cust-1001 is pendingCompliance (no reason)", "0 open"],
        "",
    )


def test_verify_identity(snippets: Snippets, user: User) -> None:
    for count in (1, 2):
        printed = ["2026-01-15 photoDocument until 2031-04-30"] * count
        assert snippets.run("verify_identity") == (0, printed, "")
    assert snippets.gateway.seen[0]["idempotency-key"]


def test_verify_identity_of_a_closed_user_fails(snippets: Snippets, user: User) -> None:
    factories.decide(user, Status.REJECTED)
    exit_status, lines, complaint = snippets.run("verify_identity")
    assert (exit_status != 0, lines) == (True, [])
    assert "conflict" in complaint or "409" in complaint


def test_list_transactions(snippets: Snippets, user: User) -> None:
    first = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
    # Two of them at each instant.
    factories.add_conversions(user, [first + timedelta(seconds=n // 2) for n in range(205)])
    exit_status, lines, complaint = snippets.run("list_transactions")
    printed = [line.split(" ") for line in lines]
    assert (exit_status, complaint) == (0, "")
    assert sorted(line[0] for line in printed) == sorted(c.conversion_id for c in user.conversions.all())
    assert [line[1] for line in printed] == sorted((line[1] for line in printed), reverse=True)
    assert {tuple(line[2:]) for line in printed} == {("100.00", "CAD")}
    assert len(snippets.gateway.seen) == 3


@pytest.mark.parametrize(
    ("name", "what", "said"),
    [("list_transactions", "conversions", "User not found."), ("get_document", "documents", "404")],
)
def test_an_empty_list_is_reported_and_an_unknown_user_an_error(
    snippets: Snippets, client: PartnerClient, name: str, what: str, said: str
) -> None:
    exit_status, lines, complaint = snippets.run(name)
    assert (exit_status != 0, lines, said in complaint) == (True, [], True)
    client.post("/v1/users", factories.user_body(externalId="cust-1001"))
    assert snippets.run(name) == (0, [f"no {what}"], "")


def test_get_document_saves_the_newest_byte_for_byte(snippets: Snippets, user: User) -> None:
    add_document(user)
    newest = add_document(user, PDF, created_at=NOON + timedelta(seconds=1))
    exit_status, (line,), complaint = snippets.run("get_document")
    assert (exit_status, complaint) == (0, "")
    assert line == f"{newest.document_id} application/pdf {len(PDF)} bytes"
    assert (snippets.place.folder / str(newest.document_id)).read_bytes() == PDF


@pytest.mark.parametrize("fault", ["cut", "spoilt", 503])
def test_get_document_saves_no_damaged_file(snippets: Snippets, user: User, fault: Fault) -> None:
    # As often as a client tries.
    document, snippets.gateway.faults = add_document(user, PDF), [None, *[fault] * 5]
    snippets.gateway.retry_after = 0
    exit_status, lines, complaint = snippets.run("get_document")
    assert (exit_status != 0, lines, complaint != "") == (True, [], True)
    assert not [path for path in snippets.place.folder.iterdir() if path.name.startswith(str(document.document_id))]


# One setting for each snippet: all of them, in each language, are in test_clients.py.
@pytest.mark.parametrize(
    ("name", "setting"),
    list(
        zip(
            (path.stem for path in sorted((EXAMPLES / "snippets").glob("*.py")) if path.stem != "receive_webhook"),
            itertools.cycle(["PSI_BASE_URL", "PSI_API_KEY", "PSI_SECRET"]),
            strict=False,
        )
    ),
)
def test_a_missing_setting_is_named_at_once(snippets: Snippets, name: str, setting: str) -> None:
    exit_status, lines, complaint = snippets.run(name, {setting: ""})
    assert (exit_status != 0, lines, snippets.gateway.seen) == (True, [], [])
    assert re.search(rf"\b{setting} is not set$", complaint, re.MULTILINE)


@pytest.mark.parametrize("fault", ["lost", "cut"])
def test_retry_after_a_lost_response_takes_effect_once(snippets: Snippets, user: User, fault: Fault) -> None:
    snippets.gateway.faults = [fault]
    exit_status, (line,), _complaint = snippets.run("retry")
    first, second = snippets.gateway.seen
    assert (exit_status, line[:3]) == (0, "200")
    assert first["idempotency-key"] == second["idempotency-key"]
    assert first["x-request-signature"] != second["x-request-signature"]
    assert list(UserEvent.objects.filter(pgh_obj=user).order_by("pgh_id").values_list("city", flat=True)) == [
        "Toronto",
        "Ottawa",
    ]


def test_retry_waits_for_retry_after(snippets: Snippets, user: User) -> None:
    snippets.gateway.faults, snippets.gateway.retry_after = [503], 2
    exit_status, (line,), complaint = snippets.run("retry")
    first, second = snippets.gateway.seen_at
    assert (exit_status, line[:3], complaint) == (0, "200", "")
    assert second - first >= 2


def test_retry_gives_up(snippets: Snippets, user: User) -> None:
    snippets.gateway.faults, snippets.gateway.retry_after = [429, 503, 500, 503, 503, 429], 0
    _exit_status, lines, complaint = snippets.run("retry")
    assert len(snippets.gateway.seen) == 5
    assert "503" in "".join(lines) + complaint


def test_retry_stops_at_a_refusal(snippets: Snippets) -> None:
    _exit_status, lines, complaint = snippets.run("retry")
    assert "404" in "".join(lines) + complaint
    assert "not_found" in "".join(lines) + complaint
    assert len(snippets.gateway.seen) == 1


# The samples of the reference, run as they are shown, beside the client of their language

PAGES = ROOT / "docs_site" / "pages" / "reference"
# Program, and what shows the response where the sample does not.
SAMPLES = {
    "Python": (PYTHON, sys.executable, "py", "\nprint(response.text)"),
    "Node.js": (NODE, "node", "mjs", "\nconsole.log(await response.text());"),
    "Bash": (BASH, "bash", "sh", ""),
}

each_language = pytest.mark.parametrize("language", SAMPLES)


def sample(place: Workshop, access: Access, language: str, operation: str) -> str:
    """What the response of an operation's sample is."""
    needed, program, suffix, ending = SAMPLES[language]
    written = "".join(path.read_text() for path in PAGES.glob("*.md"))
    section = written.partition(f"({operation})=")[2].partition(f":sync: {language}\n")[2]
    shown = re.match(r"```\w+\n(.*?)\n```", section, re.DOTALL)
    assert shown
    name = f"sample.{suffix}"
    (place.built(needed).folder / name).write_text(shown[1] + ending)
    done = place.run((program, name), access.environment())
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@each_language
def test_a_user_is_created(place: Workshop, access: Access, language: str, client: PartnerClient) -> None:
    assert '"pendingCompliance"' in sample(place, access, language, "createUser")
    assert client.get("/v1/users/cust-1001").status == 200


@each_language
@pytest.mark.parametrize(
    ("operation", "expected"),
    [("ping", "live"), ("getUser", "cust-1001"), ("listUsers", "cust-1001"), ("updateUser", "cust-1001")],
)
def test_a_sample_succeeds(
    place: Workshop, access: Access, language: str, operation: str, expected: str, user: User
) -> None:
    assert f'"{expected}"' in sample(place, access, language, operation)
