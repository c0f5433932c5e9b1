"""The items of a simulated import: contract, section 11."""

from collections.abc import Collection, Iterator
from typing import Any

from partners.api.errors import BadRequestError, FieldError
from partners.api.json import JsonObject
from partners.api.serializers import printable
from transactions.api.serializers import MAX_ITEMS
from transactions.imports.lines import SIDE_FIELDS, value_problems

_SIDES = ("from", "to")
_REQUIRED = (*_SIDES, "rate")
_FIELDS = frozenset({"conversionId", "createdAt", *_REQUIRED})


def checked_items(body: JsonObject) -> list[dict[str, Any]]:
    """The items. Raises BadRequestError with all errors."""
    problems = [*_name_errors("", body, required=("items",), allowed=frozenset({"items"}))]
    items = body.get("items")
    if "items" in body:
        if not isinstance(items, list):
            problems.append(FieldError("items", "Must be a list.", "type"))
        elif not 1 <= len(items) <= MAX_ITEMS:
            problems.append(FieldError("items", f"Must have 1 to {MAX_ITEMS} items.", "length"))
        else:
            problems += [problem for index, item in enumerate(items) for problem in _item_errors(index, item)]
    if problems:
        raise BadRequestError(field_errors=problems)
    return items or []


def _item_errors(index: int, item: Any) -> Iterator[FieldError]:
    path = f"items[{index}]"
    if not isinstance(item, dict):
        yield FieldError(path, "Must be an object.", "type")
        return
    yield from _name_errors(f"{path}.", item, required=_REQUIRED, allowed=_FIELDS)
    for side in _SIDES:
        if isinstance(item.get(side), dict):
            yield from _name_errors(f"{path}.{side}.", item[side], required=sorted(SIDE_FIELDS), allowed=SIDE_FIELDS)
    for problem in value_problems(item):
        text = problem.problem
        yield FieldError(f"{path}.{problem.field}", f"{text[:1].upper()}{text[1:]}.", problem.code)


def _name_errors(
    prefix: str, found: dict[str, Any], *, required: Collection[str], allowed: Collection[str]
) -> Iterator[FieldError]:
    for name in required:
        if name not in found:
            yield FieldError(prefix + name, "This field is required.", "required")
    for name in sorted(found.keys() - set(allowed)):
        yield FieldError(prefix + printable(name), "Unknown field.", "unknown")
    for name in sorted(set(getattr(found, "repeated", ()))):
        yield FieldError(prefix + printable(name), "Duplicate field.", "duplicate")
