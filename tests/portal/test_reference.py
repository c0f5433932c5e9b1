"""The reference: everything in the OpenAPI document is on its pages."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from portal import openapi
from portal.reference import pages
from tests.portal.reading import Page, get, read

SCHEMAS = "/docs/reference/schemas"
DOCUMENT = openapi.document()


def operations() -> Iterator[tuple[str, str, Any]]:
    for path, item in DOCUMENT["paths"].items():
        yield from ((path, method, operation) for method, operation in item.items())


def page_of(operation: Any) -> Page:
    return read(pages.path(operation["tags"][0].lower().replace(" ", "-")))


def section_of(page: Page, identifier: str) -> Page:
    return Page(page.source.split(f'<section class="operation" id="{identifier}"')[1].split("</section>")[0])


def test_every_operation_is_on_the_page_of_its_resource_with_parameters_and_responses() -> None:
    for path, method, operation in operations():
        section = section_of(page_of(operation), operation["operationId"])
        assert path in section.code
        assert method.upper() in section.text
        assert operation["summary"] in section.text
        own = [one for one in operation["parameters"] if one != {"$ref": "#/components/parameters/X-Sandbox-Fault"}]
        assert all(openapi.resolve(DOCUMENT, one)["name"] in section.code for one in own)
        assert all(status in section.text for status in operation["responses"])


def test_headers_of_all_requests_are_described_once() -> None:
    overview = read("/docs/reference")
    for name in ("X-Api-Key", "X-Request-Timestamp", "X-Request-Signature", "X-Sandbox-Fault", "X-Request-Id"):
        assert name in overview.code
        for _, _, operation in operations():
            section = section_of(page_of(operation), operation["operationId"])
            # The sample of an HTTP message has those of the signature.
            assert name not in section.code


def test_every_webhook_is_shown_with_its_payload() -> None:
    page = read("/docs/reference/webhooks")
    assert {"webhook-id", "webhook-timestamp", "webhook-signature"} <= set(page.code)
    for kind, item in DOCUMENT["webhooks"].items():
        section = section_of(page, item["post"]["operationId"])
        assert kind in section.text
        (media,) = item["post"]["requestBody"]["content"].values()
        (example,) = media["examples"].values()
        assert json.dumps(example["value"], indent=2) in section.code
        assert {f"data.{name}" for name in example["value"]["data"]} <= set(section.code)


def test_every_field_of_every_schema_is_shown() -> None:
    page = read(SCHEMAS)
    for name, schema in DOCUMENT["components"]["schemas"].items():
        section = Page(page.source.split(f'id="schema-{name}"')[1].split("</section>")[0])
        assert set(schema.get("properties", {})) <= set(section.code), name
        assert section.text.count("required") >= len(schema.get("required", [])), name


def test_a_field_is_shown_with_its_description_and_example() -> None:
    section = section_of(read("/docs/reference/users"), "createUser")
    described = DOCUMENT["components"]["schemas"]["NewUser"]["properties"]["occupation"]
    assert described["description"] in section.text
    assert described["examples"][0] in section.code


@pytest.mark.parametrize("path", ["/docs/reference", *map(pages.path, pages.names())])
def test_no_page_shows_a_pattern(path: str) -> None:
    assert r"\u0000" not in read(path).text
    assert "^[" not in read(path).text


def test_every_example_of_the_description_is_shown() -> None:
    for _, _, operation in operations():
        code = page_of(operation).code
        for response in operation["responses"].values():
            for content in openapi.resolve(DOCUMENT, response).get("content", {}).values():
                for example in content.get("examples", {}).values():
                    value = openapi.resolve(DOCUMENT, example)["value"]
                    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
                    assert text in code


def test_a_sample_of_a_write_passes_an_idempotency_key() -> None:
    takes = {"$ref": "#/components/parameters/Idempotency-Key"}
    writes = [one for _, _, one in operations() if takes in one["parameters"]]
    assert len(writes) >= 5
    for operation in writes:
        section = section_of(page_of(operation), operation["operationId"])
        assert [code for code in section.code if "PSI_IDEMPOTENCY_KEY=$key" in code], operation["operationId"]


def test_a_link_to_an_operation_of_the_former_single_page_leads_to_its_entry() -> None:
    overview = read("/docs/reference")
    names = [operation["operationId"] for _, _, operation in operations()]
    names += [f"schema-{name}" for name in DOCUMENT["components"]["schemas"]]
    assert set(names) <= set(overview.values("id"))
    for name in names:
        entry = Page(overview.source.split(f'<li id="{name}" data-moved>')[1].split("</li>")[0])
        [link] = entry.values("href")
        path, _, anchor = link.partition("#")
        assert anchor == name
        assert anchor in read(path).values("id")


@pytest.mark.parametrize("name", ["nothing", "Users", "users/", "users.md.md"])
def test_an_unknown_resource_is_a_404(name: str) -> None:
    assert get(f"/docs/reference/{name}").status == 404


def test_another_openapi_document_can_be_shown() -> None:
    node = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "below": {"$ref": "#/components/schemas/Node"}},
    }
    shelf = {
        "name": "shelf",
        "in": "path",
        "required": True,
        "schema": {"oneOf": [{"type": "integer"}, {"type": "null"}]},
    }
    description = {
        "info": {"title": "Another", "version": "7", "description": "A `tree`, <b>unsafe</b>."},
        "paths": {
            "/trees/{shelf}": {
                "parameters": [shelf],
                "get": {
                    "operationId": "getTree",
                    "tags": ["Old trees"],
                    "responses": {
                        "200": {
                            "description": "A tree.",
                            "content": {"a/json": {"schema": {"$ref": "#/components/schemas/Node"}}},
                        },
                        "404": {"$ref": "#/components/responses/Gone"},
                    },
                },
            }
        },
        "components": {"schemas": {"Node": node}, "responses": {"Gone": {"description": "No such tree."}}},
    }
    context = pages.context(description)
    section = section_of(Page(pages.render(context, "old-trees")), "getTree")
    assert section.code[:2] == ["/trees/{shelf}", "shelf"]
    assert {"name", "below"} <= set(section.code)
    assert "integer or null" in section.text
    assert "No such tree." in section.text
    assert "A tree, <b>unsafe</b>." in Page(pages.render(context)).text
