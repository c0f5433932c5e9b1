"""The pages of the reference: an index, one for each tag of the document, and one for its components."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.text import slugify

from portal import openapi
from portal.guide import example_files, guide
from portal.openapi import Node
from portal.reference import operations
from portal.reference.schema_fields import direct_rows, prose

SCHEMAS = "schemas"


@lru_cache(maxsize=1)
def whole() -> dict[str, Any]:
    """Return the context of all pages, made once in each process."""
    return context(openapi.document())


def names() -> list[str]:
    """Return the last part of the path of each page but the index."""
    return [resource["name"] for resource in whole()["resources"]] + [SCHEMAS]


def title(name: str) -> str:
    """Return the title of a page; "" is the index. Raises StopIteration for an unknown one."""
    if name in {"", SCHEMAS}:
        return "Schemas" if name else "Reference"
    return next(str(one["title"]) for one in whole()["resources"] if one["name"] == name)


def about(name: str) -> str:
    """Return what a page is about, in a few words."""
    if name == SCHEMAS:
        return "the objects of requests and responses"
    resource = next(one for one in whole()["resources"] if one["name"] == name)
    return ", ".join(one["title"] for one in (*resource["operations"], *resource["webhooks"]))


@lru_cache(maxsize=64)
def page(name: str = "") -> str:
    """Render a page, once in each process. name: one of `names`, or "" for the index."""
    return render(whole(), name)


def render(everything: dict[str, Any], name: str = "") -> str:
    """Render a page of a document's context."""
    own: dict[str, Any] = {"markdown": f"reference/{name}" if name else "reference"}
    if name == "":
        own["contents"] = contents("Overview", everything=everything)
        return render_to_string("docs/reference/index.html", everything | own)
    if name == SCHEMAS:
        links = [{"id": f"schema-{one['name']}", "title": one["name"]} for one in everything["components"]]
        own["contents"] = contents("Schemas", links, everything)
        return render_to_string("docs/reference/schemas.html", everything | own)
    resource = next(one for one in everything["resources"] if one["name"] == name)
    links = [*resource["operations"], *({"id": one["id"], "title": one["path"]} for one in resource["webhooks"])]
    own |= {"resource": resource, "contents": contents(resource["title"], links, everything)}
    return render_to_string("docs/reference/resource.html", everything | own)


def context(document: Node) -> dict[str, Any]:
    """Return the context of all pages of a document (OpenAPI 3.1)."""
    described, webhooks = operations.operations(document), operations.webhooks(document)
    used = dict.fromkeys(one["tag"] for one in (*described, *webhooks))
    tags = {tag["name"]: tag.get("description", "") for tag in document.get("tags", [])}
    resources = [
        {
            "name": slugify(tag),
            "title": tag,
            "description": prose(tags.get(tag, "")),
            "operations": [one for one in described if one["tag"] == tag],
            "webhooks": [one for one in webhooks if one["tag"] == tag],
        }
        for tag in sorted(used, key=list(tags).index if tags.keys() >= used.keys() else str)
    ]
    components = [
        {"name": name, "description": prose(schema.get("description", "")), "fields": [*direct_rows(document, schema)]}
        for name, schema in document.get("components", {}).get("schemas", {}).items()
    ]
    return {
        "here": "reference",
        "info": document["info"] | {"description": prose(document["info"].get("description", ""))},
        "resources": resources,
        "components": components,
        "request_headers": operations.request_headers(document),
        "response_headers": operations.response_headers(document),
        "webhook_headers": operations.webhook_headers(document),
        "clients": [one for one in example_files.clients() if one.language in guide.QUICK_LANGUAGES],
    }


def contents(
    title: str, links: Iterable[Mapping[str, Any]] = (), everything: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Return the table of contents: all pages of the reference, and the sections of one, by its title and their links.

    everything: the context of all pages, by default of our document.
    """
    pages = [
        {"title": "Overview", "href": reverse("docs_reference")},
        *({"title": one["title"], "href": path(one["name"])} for one in (everything or whole())["resources"]),
        {"title": "Schemas", "href": path(SCHEMAS)},
        {"title": "Countries", "href": reverse("docs_countries")},
    ]
    marked = [page | {"here": page["title"] == title} for page in pages]
    return [{"title": "Reference", "links": marked}, *([{"title": title, "links": links}] if links else [])]


def path(name: str) -> str:
    """Return the path of a page by its name."""
    return reverse("docs_reference_page", args=[name])
