"""The base serializer under /v1: strict about names, with all errors in one response."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeVar

from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.fields import SkipField, empty, get_error_detail
from rest_framework.settings import api_settings
from rest_framework.utils.serializer_helpers import BindingDict

from core.formats.rfc_3339 import format_timestamp
from partners.api.errors import ApiError, BadRequestError, FieldError

NAME_LENGTH_IN_ERRORS = 100

Instance = TypeVar("Instance")
Row = TypeVar("Row")
# A list of ErrorDetail by name; of a nested serializer or list such errors again, by name or index.
Errors = dict[str, Any]
Fields = Mapping[str, serializers.Field[Any, Any, Any, Any]]

# DRF's codes that are other ones on the wire.
_CODES = {"null": "type"}


class InstantField(serializers.Field[Any, Any, Any, Any]):
    """A date-time in a response; a text is as PostgreSQL wrote it for the wire (contract, section 6)."""

    def to_representation(self, value: datetime | str) -> str:
        """In UTC with six fraction digits."""
        return value if isinstance(value, str) else format_timestamp(value)


class StrictSerializer(serializers.Serializer[Instance]):
    """A DRF serializer that also reports unknown and repeated fields.

    `errors` has the declared fields in their order, then unknown ones by name. Repeated names are known only for a
    JsonObject. Saving is not supported.
    """

    # Refused in an update.
    create_only_fields: ClassVar[Collection[str]] = ()
    # The message where a nested serializer finds something else.
    not_an_object: ClassVar[str] = "Must be an object."

    @cached_property
    def _field_set(self) -> "_FieldSet":
        # DRF copies the declared fields for each serializer, which takes 170 µs for a user, of which validation takes
        # 75. Our fields have no state: without a context, which fields can read, serializers of a class share a copy.
        return _field_set(self) if self._context else _shared_field_set(type(self))

    @property
    def fields(self) -> Fields:  # type: ignore[override]  # read-only
        """The declared fields, by name."""
        return self._field_set.all

    @property
    def writable_fields(self) -> Fields:
        """The fields that data may contain, by name."""
        return self._field_set.writable

    def is_valid(self, *, raise_exception: bool = False) -> bool:
        """As DRF's; `raise_exception` raises `api_error()`."""
        valid = super().is_valid()
        if raise_exception and not valid:
            raise self.api_error()
        return valid

    def api_error(self) -> ApiError:
        """A BadRequestError with all `errors`."""
        if api_settings.NON_FIELD_ERRORS_KEY in self.errors:
            return BadRequestError("The body must be a JSON object.")
        return BadRequestError(
            field_errors=[
                FieldError(name, message, _CODES.get(message.code, message.code))
                for name, message in _flat(self.errors)
            ]
        )

    def run_validators(self, value: Any) -> None:
        """As DRF's, but quick if there are none."""
        if self.validators:
            super().run_validators(value)

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """The values by source. Raises ValidationError."""
        if not isinstance(data, Mapping):
            raise serializers.ValidationError({api_settings.NON_FIELD_ERRORS_KEY: [self.not_an_object]}, "type")
        values, errors = self._validate_fields(data)
        self.validate_together(values, errors)
        known = self.writable_fields.keys()
        errors |= {name: [ErrorDetail("Unknown field.", "unknown")] for name in data.keys() - known}
        errors |= {name: [ErrorDetail("Duplicate field.", "duplicate")] for name in getattr(data, "repeated", ())}
        if errors:
            names = [*(name for name in known if name in errors), *sorted(errors.keys() - known)]
            raise serializers.ValidationError({name: errors[name] for name in names})
        return values

    def validate_together(self, values: dict[str, Any], errors: Errors) -> None:
        """A hook for rules about several fields, called even if some are invalid, unlike `validate()`.

        values: of the valid fields, by source; the hook may change them. errors: by field; the hook may add some.
        """

    def _validate_fields(self, data: Mapping[str, Any]) -> tuple[dict[str, Any], Errors]:
        values: dict[str, Any] = {}
        errors: Errors = {}
        refused = () if self.instance is None else self.create_only_fields
        _, writable, with_methods = self._field_set
        for name, field in writable.items():
            if name not in data and (self.partial or name in refused):
                continue
            if name in refused:
                errors[name] = [ErrorDetail(f"{name} cannot be changed.", "notAllowed")]
                continue
            try:
                value = field.run_validation(data.get(name, empty))
                if name in with_methods:
                    value = getattr(self, f"validate_{name}")(value)
                values[field.source or name] = value
            except serializers.ValidationError as error:
                errors[name] = error.detail
            except DjangoValidationError as error:
                errors[name] = list(get_error_detail(error))
            except SkipField:  # not sent, and without a default
                continue
        return values, errors


class _FieldSet(NamedTuple):
    """A serializer's fields: all, those that data may contain, and the names of those with a `validate_<field>()`."""

    all: Fields
    writable: Fields
    with_methods: frozenset[str]


def _field_set(serializer: StrictSerializer[Any]) -> _FieldSet:
    fields = BindingDict(serializer)
    for name, field in serializer.get_fields().items():
        fields[name] = field
    writable = {name: field for name, field in fields.items() if not field.read_only}
    with_methods = frozenset(name for name in writable if hasattr(serializer, f"validate_{name}"))
    # Read-only, as they may be shared.
    return _FieldSet(MappingProxyType(dict(fields)), MappingProxyType(writable), with_methods)


@cache
def _shared_field_set(serializer_class: type[StrictSerializer[Any]]) -> _FieldSet:
    return _field_set(serializer_class())


def _flat(errors: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The errors by the name of their field in the body, such as items[0].from.amount."""
    for name, found in errors.items():
        path = f"{prefix}.{printable(name)}" if prefix and isinstance(name, str) else printable(str(name))
        if isinstance(name, int):
            path = f"{prefix}[{name}]"
        elif name == api_settings.NON_FIELD_ERRORS_KEY:
            path = prefix
        if isinstance(found, Mapping):
            yield from _flat(found, path)
        else:
            yield from ((path, message) for message in found)


def printable(name: str) -> str:
    """A partner's name of a field, cut, and without lone surrogates, which UTF-8 cannot encode."""
    return name[:NAME_LENGTH_IN_ERRORS].encode(errors="replace").decode()


class CompletedWriteSerializer(serializers.Serializer[Any]):
    """A write that has taken effect."""

    idempotencyKey = serializers.UUIDField(source="idempotency_key")
    method = serializers.CharField()
    path = serializers.CharField()
    status = serializers.IntegerField()
    completedAt = InstantField(source="completed_at")
    expiresAt = InstantField(source="expires_at")


class DiagnosisSerializer(serializers.Serializer[Any]):
    """Why the signature of a request was refused, for sandbox keys alone."""

    cause = serializers.CharField()
    message = serializers.CharField()
    canonicalRequest = serializers.CharField()
