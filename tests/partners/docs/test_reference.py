"""The reference: everything in the OpenAPI document is on the page."""

import json

from django.template.loader import render_to_string

from partners.docs import openapi, reference
from tests.partners.docs.reading import Page, read


def test_every_operation_is_shown_with_parameters_and_responses() -> None:
    page = read("/docs/reference")
    for path, item in openapi.document()["paths"].items():
        for method, operation in item.items():
            section = Page(page.source.split(f'id="{operation["operationId"]}"')[1].split("</section>")[0])
            assert path in section.code
            assert method.upper() in section.text
            assert operation["summary"] in section.text
            assert all(one["name"] in section.code for one in operation.get("parameters", []))
            assert all(status in section.text for status in operation["responses"])


def test_every_field_of_every_schema_is_shown() -> None:
    page = read("/docs/reference")
    schemas = openapi.document()["components"]["schemas"]
    assert schemas
    for name, schema in schemas.items():
        section = Page(page.source.split(f'id="schema-{name}"')[1].split("</section>")[0])
        assert set(schema.get("properties", {})) <= set(section.code), name
        assert section.text.count("required") >= len(schema.get("required", [])), name


def test_every_example_of_the_description_is_shown() -> None:
    code = read("/docs/reference").code
    for item in openapi.document()["paths"].values():
        for operation in item.values():
            for response in operation["responses"].values():
                for content in response.get("content", {}).values():
                    for example in content.get("examples", {}).values():
                        value = example["value"]
                        text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
                        assert text in code


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
                    "tags": ["Trees"],
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
    page = Page(render_to_string("docs/reference.html", reference.context(description)))
    section = Page(page.source.split('id="getTree"')[1].split("</section>")[0])
    assert section.code[:2] == ["/trees/{shelf}", "shelf"]
    assert {"name", "below"} <= set(section.code)
    assert "integer or null" in section.text
    assert "No such tree." in section.text
    assert "A tree, <b>unsafe</b>." in page.text
