"""The API's description, OpenAPI 3.1, made by drf-spectacular from what stands beside the views.

A view's method is described by an `Operation` (partners/api/description.py). Here it is put into drf-spectacular's
terms, together with what holds for every operation: how it is signed, its errors, and the headers of its answers.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal

import orjson
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse
from rest_framework.serializers import Serializer

from partners.api.description import File, Header, Operation, Shape, description_of
from partners.api.errors import ApiError
from partners.docs import common

Direction = Literal["request", "response"]


class ShapeSerializer(Serializer[Any]):
    """A shape as drf-spectacular takes one: it asks for serializers."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape


class ShapeExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Tells drf-spectacular the name and the schema of a shape."""

    target_class = ShapeSerializer

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        """The component's name."""
        name: str = self.target.shape.name
        return name

    def get_identity(self, auto_schema: AutoSchema, direction: Direction) -> Shape:
        """The shape itself: wrapped twice it is still one component."""
        shape: Shape = self.target.shape
        return shape

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        """The schema, with references in place of the shapes in it."""
        resolved: dict[str, Any] = _with_references(self.target.shape.schema(), auto_schema, direction)
        return resolved


def _with_references(schema: Any, auto_schema: AutoSchema, direction: Direction) -> Any:
    if isinstance(schema, Shape):
        return auto_schema.resolve_serializer(ShapeSerializer(schema), direction).ref
    if isinstance(schema, Mapping):
        return {name: _with_references(value, auto_schema, direction) for name, value in schema.items()}
    if isinstance(schema, list | tuple):
        return [_with_references(value, auto_schema, direction) for value in schema]
    return schema


class OperationSchema(AutoSchema):
    """An operation, as what is attached to the view's method describes it."""

    @property
    def operation(self) -> Operation:
        """What describes the view's method."""
        return description_of(getattr(self.view, self.method.lower()))

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The operation object, with what drf-spectacular does not know of: links, and that an update needs a body."""
        described: dict[str, Any] = super().get_operation(*args, **kwargs) or {}
        if self.operation.body:
            described["requestBody"]["required"] = True
        if self.operation.links:
            described["responses"][str(self.operation.status)]["links"] = {
                link.operation: {"operationId": link.operation, "parameters": dict(link.parameters)}
                for link in self.operation.links
            }
        return described

    def get_operation_id(self) -> str:
        """The name by which generated clients call the operation."""
        return self.operation.id

    def get_summary(self) -> str:
        """The operation in some words."""
        return self.operation.summary

    def get_description(self) -> str:  # type: ignore[override]
        """The operation in full."""
        return self.operation.description

    def get_tags(self) -> list[str]:
        """The heading under which the reference shows it."""
        return [self.operation.tag]

    def get_auth(self) -> list[dict[str, list[str]]]:
        """The three headers that sign a request: all of them together."""
        return [{name: [] for name in common.SECURITY_SCHEMES}]

    def map_parsers(self) -> list[str]:
        """The one form in."""
        return ["application/json"]

    def map_renderers(self, attribute: str) -> list[str]:
        """The one form out, but for files."""
        return ["application/json"] if attribute == "media_type" else []

    def get_request_serializer(self) -> ShapeSerializer | None:
        """The body's shape."""
        return ShapeSerializer(self.operation.body) if self.operation.body else None

    def get_examples(self) -> list[OpenApiExample]:
        """Bodies that are valid. Those of answers stand with the answers."""
        return [
            OpenApiExample(name, value=value, request_only=True) for name, value in self.operation.body_examples.items()
        ]

    def get_override_parameters(self) -> list[Any]:
        """The parameters of the request and, in drf-spectacular's terms also parameters, the headers of answers."""
        return [*self._parameters(), *self._headers()]

    def _parameters(self) -> Iterator[OpenApiParameter]:
        for one in self.operation.parameters:
            yield OpenApiParameter(
                one.name,
                type=dict(one.schema()),
                location=one.place,
                required=one.required,
                description=one.description,
                examples=[OpenApiExample(one.name, value=one.example)],
            )

    def _headers(self) -> Iterator[OpenApiParameter]:
        statuses = [self.operation.status, *{error.status_code for error in self._errors()}]
        for header in common.HEADERS_OF_ALL:
            yield _header(header, statuses)
        for header in common.HEADERS_OF_AUTHENTICATED:
            yield _header(header, [status for status in statuses if status not in common.BEFORE_AUTHENTICATION])
        for header in self.operation.headers:
            yield _header(header, [self.operation.status])
        for name, codes in common.statuses_by_header(self._errors()).items():
            yield _header(common.HEADERS_OF_ERRORS[name], codes)

    def _errors(self) -> list[ApiError]:
        return [*self.operation.errors, *common.errors_of_all(writes=self.operation.body is not None)]

    def get_response_serializers(self) -> dict[Any, OpenApiResponse]:  # type: ignore[override]
        """Every answer by its status."""
        operation = self.operation
        answers: dict[Any, OpenApiResponse] = {}
        if isinstance(operation.answer, File):
            for media_type in operation.answer.media_types:
                answers[operation.status, media_type] = OpenApiResponse(
                    {"type": "string", "format": "binary"}, description=operation.answered
                )
        else:
            example = OpenApiExample(operation.id, value=operation.answer.example, response_only=True)
            answers[operation.status] = OpenApiResponse(
                ShapeSerializer(operation.answer), description=operation.answered, examples=[example]
            )
        by_status: dict[int, list[ApiError]] = {}
        for error in self._errors():
            by_status.setdefault(error.status_code, []).append(error)
        for status in sorted(by_status):
            answers[status] = _error_response(by_status[status])
        return answers


def _header(header: Header, statuses: list[int]) -> OpenApiParameter:
    return OpenApiParameter(
        header.name,
        type=dict(header.schema),
        location="header",
        required=header.required,
        description=header.description,
        examples=[OpenApiExample(header.name, value=header.example)],
        response=list(statuses),
    )


def _error_response(errors: list[ApiError]) -> OpenApiResponse:
    examples = [
        OpenApiExample(f"{errors[0].code}_{number}", summary=common.summary(error), value=common.error_example(error))
        for number, error in enumerate(errors, start=1)
    ]
    return OpenApiResponse(
        ShapeSerializer(common.shape_of(type(errors[0]))), description=common.meaning(errors), examples=examples
    )


class Generator(SchemaGenerator):
    """Names the parts of paths as the wire does (externalId, not external_id), and says how requests are signed."""

    def get_schema(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The document."""
        described: dict[str, Any] = super().get_schema(*args, **kwargs)  # type: ignore[no-untyped-call]
        described["components"]["securitySchemes"] = common.SECURITY_SCHEMES
        return described

    def coerce_path(self, path: str, method: str, view: Any) -> str:
        """The path with its parameters in camelCase."""
        return "/".join(_camel_case(part) if part.startswith("{") else part for part in path.split("/"))


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def share_headers(result: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
    """Tells each header once and has the answers refer to it: drf-spectacular writes it out at every one."""
    shared: dict[str, Any] = {}
    for answer in _answers(result):
        for name, header in answer.get("headers", {}).items():
            if shared.setdefault(name, header) != header:
                raise ValueError(f"Header {name} is described in two ways.")
            answer["headers"][name] = {"$ref": f"#/components/headers/{name}"}
    result["components"]["headers"] = shared
    return result


def _answers(described: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in described["paths"].values():
        for operation in path.values():
            yield from operation["responses"].values()


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    """The whole description."""
    return Generator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]


@lru_cache(maxsize=1)
def document_bytes() -> bytes:
    """The whole description as JSON."""
    return orjson.dumps(document(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
