"""Enumerations of the OpenAPI document as components: generators number those inside properties (`Type1`, `Type2`)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from partners.api.sandbox.faults import Fault
from partners.models import EventType
from portal.openapi import Node
from transactions.models import DocumentType
from users.models import RequirementCode, Status
from users.profile.field_rules import COUNTRY_CODES


class Enumeration(NamedTuple):
    """A component."""

    name: str
    values: Sequence[str]
    description: str


_ENUMERATIONS = {
    frozenset(one.values): one
    for one in (
        Enumeration("Country", sorted(COUNTRY_CODES), "A country, by its two-letter code (ISO 3166-1 alpha-2)."),
        Enumeration("DocumentType", DocumentType.values, "A kind of document."),
        Enumeration("EventType", EventType.values, "A type of event."),
        Enumeration("RequirementCode", RequirementCode.values, "What compliance needs."),
        Enumeration("SandboxFault", [fault.value for fault in Fault], "A failure that the sandbox simulates."),
        Enumeration("UserStatus", Status.values, "A status of a user."),
    )
}
# Responses get no other values of these (docs, "Versions"); of all other enumerations they may.
_FINAL = frozenset({"UserStatus"})
# Rules in JSON Schema, of which no generator makes a type.
_RULES = frozenset({"if", "then", "else", "not"})


def name_enumerations(document: Node) -> None:
    """Move enumerations to components; in responses, have those that may grow be texts, with the values beside.

    A single value becomes a `const`, which needs no name.
    """
    components = document["components"]
    schemas = components["schemas"]
    operations = [one for path in document["paths"].values() for one in path.values()]
    sent = _reachable(schemas, [one.get("requestBody") for one in operations])
    named: Node = {}
    schemas |= {name: _named(schema, named, is_sent=name in sent) for name, schema in schemas.items()}
    document["paths"] = _named(document["paths"], named, is_sent=True)
    components["parameters"] = _named(components["parameters"], named, is_sent=True)
    components["schemas"] = dict(sorted((schemas | named).items()))


def _reachable(schemas: Node, node: Any) -> set[str]:
    """The names of the components that a node refers to, and those that they refer to."""
    if isinstance(node, list):
        return {name for one in node for name in _reachable(schemas, one)}
    if not isinstance(node, dict):
        return set()
    name = str(node.get("$ref", "")).rpartition("/")[2]
    return {name, *_reachable(schemas, schemas[name])} if name else _reachable(schemas, list(node.values()))


def _named(node: Any, named: Node, *, is_sent: bool) -> Any:
    if isinstance(node, list):
        return [_named(one, named, is_sent=is_sent) for one in node]
    if not isinstance(node, dict):
        return node
    if "enum" in node:
        return _enumeration(node, named, is_sent=is_sent)
    return {key: one if key in _RULES else _named(one, named, is_sent=is_sent) for key, one in node.items()}


def _enumeration(node: Node, named: Node, *, is_sent: bool) -> Node:
    """The schema of an enumeration. named: gets its component."""
    rest = {key: one for key, one in node.items() if key not in {"type", "enum"}}
    values = [value for value in node["enum"] if value is not None]
    if len(values) == 1:
        return {"type": "string", "const": values[0], **rest}
    one = _ENUMERATIONS.get(frozenset(values))
    if not is_sent and (one is None or one.name not in _FINAL):
        return {"type": node["type"], "x-extensible-enum": values, **rest}
    if one is None:
        raise ValueError(f"This enumeration has no name: {values}")
    named[one.name] = {"type": "string", "enum": list(one.values), "description": one.description}
    return {"$ref": f"#/components/schemas/{one.name}", **rest}
