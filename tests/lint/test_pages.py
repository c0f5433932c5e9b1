"""What the pages of /docs say is what the code does."""

import ast
import json
import re
from typing import Any

from django.conf import settings

from docs_site.conf import changelog, example_files
from docs_site.reference import description
from events.management.commands.purge_expired import EVENTS_KEPT
from partners.api import errors, idempotency
from partners.api.lists import DEFAULT_LIMIT, MAX_LIMIT
from partners.api.request import MAX_BODY_BYTES
from partners.models import KEY_PREFIXES, SECRET_PREFIXES
from sandbox.views import SLOW_SECONDS, Fault
from tests.docs_site.site import PAGES, PAGES_OF_MARKDOWN, page, text
from users.models.statuses import TRANSITIONS
from users.profile.field_rules import ADULT_YEARS

DESCRIPTION: dict[str, Any] = description()
OPERATIONS = [
    operation
    for items in (DESCRIPTION["paths"], DESCRIPTION["webhooks"])
    for item in items.values()
    for operation in item.values()
    if isinstance(operation, dict)
]


# The guide


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
    heads = ("# Changelog\nAbout.", "## [Unreleased]", "### Added")
    lists = ("For partners:", "- One.", "For staff:", "- Two.", "### Removed", "- Three.")
    shown = changelog("\n\n".join((*heads, *lists)))
    assert [line for line in shown.splitlines() if line] == [
        *("# Changelog", "## Unreleased", "### Added", "- One.", "### Removed", "- Three.")
    ]
    shown_page = page("/docs/changelog/").text
    assert "For operators:" not in shown_page
    assert "For staff:" not in shown_page
