"""What the pages of /docs say is what the code does."""

import ast
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings

from docs_site.conf import changelog, example_files
from docs_site.urls import openapi_json
from events.management.commands.purge_expired import EVENTS_KEPT
from partners.api import errors, idempotency
from partners.api.json import MAX_BODY_BYTES
from partners.api.lists import DEFAULT_LIMIT, MAX_LIMIT
from partners.models import KEY_PREFIXES, SECRET_PREFIXES
from sandbox.faults import SLOW_SECONDS, Fault
from tests import factories
from tests.docs_site.site import PAGES, page
from tests.support.client import PartnerClient, in_process
from users.models.statuses import TRANSITIONS
from users.profile.field_rules import ADULT_YEARS

PAGES_OF_MARKDOWN = settings.BASE_DIR / "docs_site" / "pages"
DESCRIPTION: dict[str, Any] = json.loads(openapi_json())
OPERATIONS = [
    operation
    for items in (DESCRIPTION["paths"], DESCRIPTION["webhooks"])
    for item in items.values()
    for operation in item.values()
    if isinstance(operation, dict)
]


def text(name: str) -> str:
    """A page's Markdown, in one line."""
    return " ".join((PAGES_OF_MARKDOWN / f"{name}.md").read_text().split())


# The guide


def test_there_are_thirteen_steps_whose_files_exist_in_each_language() -> None:
    steps = re.findall(r"```\{example\} go_live/(step\d\d_\w+)", (PAGES_OF_MARKDOWN / "go-live.md").read_text())
    assert [name[:6] for name in steps] == [f"step{number:02}" for number in range(1, 14)]
    code = page("/docs/go-live/").code
    for number, name in enumerate(steps, start=1):
        assert f"output of step {number}" in code
        for suffix in (".py", ".mjs", ".sh"):
            assert code[f"{name}{suffix}"] == example_files()[f"{name}{suffix}"].read_text()
        assert name in code["download"]


def test_every_example_is_on_a_page() -> None:
    shown = {name for path in PAGES for name in page(path).code}
    downloads = (PAGES_OF_MARKDOWN / "clients.md").read_text()
    assert {
        name for name in example_files() if name not in shown and f"/docs/examples/{name}" not in downloads
    } == set()


def test_numbers_are_those_of_the_code() -> None:
    days, hours = EVENTS_KEPT.days, int(idempotency.WINDOW.total_seconds()) // 3600
    for name, said in (
        ("authentication", f"at most {settings.CLOCK_SKEW_SECONDS} seconds from our clock"),
        ("authentication", f"{MAX_BODY_BYTES // 1024} KiB ({MAX_BODY_BYTES} bytes)"),
        ("conversions", f"1 to {MAX_LIMIT}, default {DEFAULT_LIMIT}"),
        ("errors", f"Same key within {hours} hours"),
        ("errors", f"larger than {MAX_BODY_BYTES} bytes"),
        ("errors", f"The user is under {ADULT_YEARS}."),
        ("events", f"Events are kept for {days} days"),
        ("go-live", f"within {hours} hours"),
        ("go-live", f"events are kept for {days} days"),
        ("go-live", f"which waits for {SLOW_SECONDS:.0f} seconds"),
        *(("go-live", f"`{fault}`") for fault in Fault if fault is not Fault.LOST_ANSWER),
        *(("production", f"`{prefix}`") for prefix in (*KEY_PREFIXES.values(), *SECRET_PREFIXES.values())),
    ):
        assert said in text(name), (name, said)


def test_every_transition_of_a_status_is_shown() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", (PAGES_OF_MARKDOWN / "users.md").read_text(), re.MULTILINE)
    assert {start: re.findall(r"`(\w+)`", ends) for start, ends in rows} == {
        start.value: [end.value for end in ends] for start, ends in TRANSITIONS.items()
    }


def test_every_status_reason_is_explained() -> None:
    reasons = DESCRIPTION["components"]["schemas"]["UserSummary"]["properties"]["statusReason"]["x-extensible-enum"]
    section = (PAGES_OF_MARKDOWN / "users.md").read_text().split("## Reasons")[1].split("## Requirements")[0]
    assert set(re.findall(r"^`(\w+)`$", section, re.MULTILINE)) == set(reasons)


def test_every_error_is_explained() -> None:
    shown = set(re.findall(r"^`(\d+)` `(\w+)`$", (PAGES_OF_MARKDOWN / "errors.md").read_text(), re.MULTILINE))
    kinds: list[type[errors.ApiError]] = [errors.ApiError, *all_below(errors.ApiError)]
    assert {(str(kind.status_code), str(kind.code)) for kind in kinds} <= shown


def all_below(kind: type[errors.ApiError]) -> list[type[errors.ApiError]]:
    return [one for below in kind.__subclasses__() for one in (below, *all_below(below))]


def test_every_message_of_a_401_is_explained(api: PartnerClient, create_user: Callable[..., object]) -> None:
    create_user(externalId="cust-1")
    path, body = "/v1/users/cust-1", json.dumps({"city": "Ottawa"}).encode()
    refusals = [
        api.get("/v1/ping", headers={"X-Api-Key": None}),
        api.get("/v1/ping", timestamp="yesterday"),
        api.get("/v1/ping", timestamp="2099-01-01T00:00:00Z"),
        api.get("/v1/ping", secret="another"),
    ]
    signed = api.headers("PATCH", path, body, key=None, timestamp=None, secret=None)
    assert in_process("PATCH", path, signed, body).status == 200
    refusals.append(in_process("PATCH", path, signed, body))
    for refusal in refusals:
        said = refusal.json()["message"].replace("X-Api-Key is missing", "… is missing").partition("which is")[0]
        assert (refusal.status, said in text("authentication")) == (401, True), said


def test_the_example_of_an_error_is_a_real_response(api: PartnerClient) -> None:
    shown = json.loads((PAGES_OF_MARKDOWN / "errors.md").read_text().split("```json")[1].split("```")[0])
    response = api.post("/v1/users", factories.user_body(email="nobody", dateOfBirth="1990")).json()
    assert shown | {"requestId": ""} == response | {"requestId": ""}


def test_the_worked_example_is_the_first_vector() -> None:
    published = json.loads((settings.BASE_DIR / "docs" / "signing-vectors.json").read_bytes())
    vector, source = published["vectors"][0], (PAGES_OF_MARKDOWN / "authentication.md").read_text()
    for shown in (vector["body"], vector["canonicalRequest"], vector["signature"]):
        assert f"\n{shown}\n```" in source
    for shown in (published["secret"], published["apiKey"], f"here {len(vector['body'].encode())}:"):
        assert shown in source
    fields = {name for part in ("vectors", "refused") for entry in published[part] for name in entry}
    assert all(f"`{name}`" in source for name in fields - {"id"})


def test_examples_show_keys_of_the_sandbox() -> None:
    exported = [code for path in PAGES for code in page(path).code.values() if "export PSI_API_KEY=" in code]
    assert len(exported) >= 2
    assert not [code for code in exported if "psi_key_" in code or "psi_secret_" in code]


# The reference


def test_every_operation_has_a_section_with_its_path_and_samples() -> None:
    sections = {anchor for path in PAGES if path.startswith("/docs/reference/") for anchor in page(path).values("id")}
    assert {one["operationId"].lower() for one in OPERATIONS} <= sections
    written = "".join(path.read_text() for path in (PAGES_OF_MARKDOWN / "reference").glob("*.md"))
    for path, item in DESCRIPTION["paths"].items():
        for method in item:
            assert f"**{method.upper()}** `{path}`" in written
    samples = re.findall(r"```python\n(.*?)\n```", written, re.DOTALL)
    assert len(samples) == sum(len(item) for item in DESCRIPTION["paths"].values())
    for sample in samples:
        ast.parse(sample)


def test_a_section_has_each_field_parameter_and_error() -> None:
    written = (PAGES_OF_MARKDOWN / "reference" / "users.md").read_text()
    section = written.split("(createUser)=")[1].split("\n## ")[1]
    schemas = DESCRIPTION["components"]["schemas"]
    for field in (*schemas["NewUser"]["properties"], *schemas["CreatedUser"]["properties"]):
        assert f"\n`{field}` " in section
    assert "\n`externalId` string, 1 to 128 characters, required\n" in section
    assert "\n`Idempotency-Key` string\n" in section
    statuses = {status for status in DESCRIPTION["paths"]["/v1/users"]["post"]["responses"] if status >= "400"}
    assert set(re.findall(r"^`(\d+)` ", section, re.MULTILINE)) == statuses
    assert "`email`: Must be an email address of a public domain" in section


# The changelog


def test_the_changelog_has_the_entries_for_partners() -> None:
    written = """# Changelog
About.

## [Unreleased]

### Added

For partners:

- One.

For staff:

- Two.

### Removed

- Three.
"""
    shown = changelog(written)
    assert [line for line in shown.splitlines() if line] == [
        *("# Changelog", "## Unreleased", "### Added", "- One.", "### Removed", "- Three.")
    ]


@pytest.mark.parametrize("path", ["/docs/changelog/"])
def test_the_changelog_is_about_what_partners_see(path: str) -> None:
    assert "For operators:" not in page(path).text
    assert "For staff:" not in page(path).text
