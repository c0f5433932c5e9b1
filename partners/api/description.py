"""Words for describing the API: what a view's method takes and gives, in the terms of OpenAPI 3.1.

Plain data, attached to the methods by `describes`; partners/docs/openapi.py makes the document of it, with
what all operations share. Nothing here is read while a request is answered.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from partners.api.errors import ApiError

# A schema object of OpenAPI 3.1, which is JSON Schema 2020-12; a Shape in it stands for a reference to that shape.
Schema = Mapping[str, Any]
Method = TypeVar("Method", bound=Callable[..., Any])

_ATTRIBUTE = "described"


@dataclass(frozen=True, eq=False)
class Shape:
    """A named schema: a component of the document.

    schema: a function, because what it tells may be costly to know. example: valid under the schema.
    """

    name: str
    schema: Callable[[], Schema]
    example: Any = None


@dataclass(frozen=True)
class Parameter:
    """A parameter of a request."""

    name: str
    place: Literal["path", "query", "header"]
    description: str
    schema: Callable[[], Schema]
    example: Any
    required: bool = False


@dataclass(frozen=True)
class Header:
    """A header field of an answer."""

    name: str
    description: str
    schema: Schema
    example: str
    required: bool = True


@dataclass(frozen=True)
class File:
    """An answer that is not JSON. media_types: those it may have."""

    media_types: tuple[str, ...]


@dataclass(frozen=True)
class Link:
    """What can be asked next with what an answer holds: a link of OpenAPI.

    operation: its id. parameters: runtime expressions, by the parameter's name.
    """

    operation: str
    parameters: Mapping[str, str]


@dataclass(frozen=True)
class Operation:
    """What one method of a path does.

    id: camelCase; generated clients name their functions by it. errors: those that it gives besides what every
    operation may. headers: of the successful answer, besides what every answer has.
    """

    id: str
    tag: str
    summary: str
    description: str
    answer: Shape | File
    answered: str
    status: int = 200
    parameters: tuple[Parameter, ...] = ()
    body: Shape | None = None
    body_examples: Mapping[str, Any] = field(default_factory=dict)
    errors: tuple[ApiError, ...] = ()
    headers: tuple[Header, ...] = ()
    links: tuple[Link, ...] = ()


def describes(operation: Operation) -> Callable[[Method], Method]:
    """Attaches a description to the method of a view that it is about."""

    def attach(method: Method) -> Method:
        setattr(method, _ATTRIBUTE, operation)
        return method

    return attach


def description_of(method: Callable[..., Any]) -> Operation:
    """What describes a view's method. Raises AttributeError where nothing does."""
    operation: Operation = getattr(method, _ATTRIBUTE)
    return operation
