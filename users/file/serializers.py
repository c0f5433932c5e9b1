"""The fields of the entries in a user's file: docs/operations.md; contract, section 15 on verifications."""

from collections.abc import Mapping
from datetime import date, timedelta
from functools import partial
from typing import Any, ClassVar

from django.core.exceptions import ValidationError as DjangoValidationError
from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import ErrorDetail
from rest_framework.fields import get_error_detail

from core import json_rules
from partners.api.serializers import ChoiceField, Errors, ItemsField, RuleField, StrictSerializer, TextField
from users.profile import field_rules
from users.profile.addresses import rules_for

MAX_NOTE = 2000
# Personal Information Protection and Electronic Documents Act, section 8(3).
DAYS_TO_ANSWER = 30
MAX_REVIEW_YEARS = 5


class DateField(RuleField):
    """A calendar date, as it is stored: YYYY-MM-DD. is_past: whether it must not be after today."""

    def __init__(self, *, is_past: bool = False, **kwargs: Any) -> None:
        super().__init__(partial(_stored_date, is_past=is_past), **kwargs)


def _stored_date(value: Any, *, is_past: bool) -> str:
    latest = field_rules.today() if is_past else date.max
    return field_rules.calendar_date(value, latest=latest).isoformat()


class NoteField(RuleField):
    """A text of up to `longest` characters, with line breaks."""

    def __init__(self, *, longest: int, **kwargs: Any) -> None:
        super().__init__(partial(json_rules.text_of_lines, longest=longest), **kwargs)


def out_of_range(message: str) -> list[ErrorDetail]:
    """The error of a date that does not fit another."""
    return [ErrorDetail(message, "range")]


class EntrySerializer(StrictSerializer[Any]):
    """The fields of an entry, as stored. varies_by: the field that decides on the others; variants: by its value."""

    varies_by: ClassVar[str] = ""
    variants: ClassVar[Mapping[Any, "EntrySerializer"]] = {}

    def validated(self, data: Any, *, born: date, ended: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The values of valid data. born: of the user. ended: the fields of the entry that this one ends.

        Raises DRF's ValidationError with all errors.
        """
        values, errors = self.check_fields(data)
        self.check(values, errors, born=born, ended=ended or {})
        self.raise_errors(errors)
        return values

    def check(self, values: dict[str, Any], errors: Errors, *, born: date, ended: Mapping[str, Any]) -> None:
        """Add the errors of values that do not fit each other, and what is made of others."""


# Verification of identity


class Method(TextChoices):
    """How an identity is verified."""

    PHOTO_DOCUMENT = "photoDocument", _("Photo document")
    CREDIT_FILE = "creditFile", _("Credit file")
    DUAL_PROCESS = "dualProcess", _("Dual process")
    RELIANCE = "reliance", _("Reliance on another entity")


class IdentityDocument(TextChoices):
    """A document with a photograph."""

    PASSPORT = "passport", _("Passport")
    DRIVERS_LICENCE = "driversLicence", _("Driver's licence")
    IDENTITY_CARD = "identityCard", _("Identity card")
    RESIDENT_CARD = "residentCard", _("Resident card")
    OTHER = "other", _("Other document")


class Information(TextChoices):
    """What one of two sources confirms."""

    NAME_AND_ADDRESS = "nameAndAddress", _("Name and address")
    NAME_AND_DATE_OF_BIRTH = "nameAndDateOfBirth", _("Name and birth date")
    NAME_AND_ACCOUNT = "nameAndAccount", _("Name and account")


class _Method(EntrySerializer):
    method = ChoiceField(Method)
    verifiedOn = DateField(is_past=True)

    def check(self, values: dict[str, Any], errors: Errors, *, born: date, ended: Mapping[str, Any]) -> None:
        if values.get("verifiedOn", "9999") < born.isoformat():
            errors["verifiedOn"] = out_of_range("Must not be before the user's birth date.")


class _PhotoDocument(_Method):
    documentType = ChoiceField(IdentityDocument)
    documentNumber = TextField(max_length=50)
    issuingCountry = RuleField(field_rules.country)
    # The empty text means none.
    issuingSubdivision = TextField(min_length=0, max_length=100, required=False)
    expiresOn = DateField(required=False)

    def check(self, values: dict[str, Any], errors: Errors, *, born: date, ended: Mapping[str, Any]) -> None:
        super().check(values, errors, born=born, ended=ended)
        if values.get("expiresOn", "9999") < values.get("verifiedOn", ""):
            errors["expiresOn"] = out_of_range("The document had expired by then.")
        subdivision = values.pop("issuingSubdivision", "")
        if subdivision and "issuingCountry" in values:
            try:
                values["issuingSubdivision"] = rules_for(values["issuingCountry"]).province(subdivision)
            except DjangoValidationError as error:
                errors["issuingSubdivision"] = list(get_error_detail(error))


class _Reference(_Method):
    """Of a credit file, or of an agreement with the entity that verified."""

    source = TextField(max_length=100)  # type: ignore[assignment]  # DRF keeps its own attribute of this name
    reference = TextField(max_length=100)


class _Source(StrictSerializer[Any]):
    source = TextField(max_length=100)  # type: ignore[assignment]  # DRF keeps its own attribute of this name
    information = ChoiceField(Information)
    reference = TextField(max_length=100)


class _DualProcess(_Method):
    sources = ItemsField(child=_Source(), min_length=2, max_length=2)

    def check(self, values: dict[str, Any], errors: Errors, *, born: date, ended: Mapping[str, Any]) -> None:
        super().check(values, errors, born=born, ended=ended)
        first, second = values.get("sources") or ({}, {})
        same = [name for name in first if name != "reference" and first[name].casefold() == second[name].casefold()]
        if same:
            detail = [ErrorDetail("Must differ from that of the other source.", "inconsistent")]
            errors["sources"] = {1: dict.fromkeys(same, detail)}


class _UnknownMethod(_Method):
    """The method itself is wrong: what belongs to one of them is not judged."""

    def check(self, values: dict[str, Any], errors: Errors, *, born: date, ended: Mapping[str, Any]) -> None:
        super().check(values, errors, born=born, ended=ended)
        for name in {name for one in _BY_METHOD.values() for name in one.fields_by_name} - {*self.fields_by_name}:
            errors.pop(name, None)


_BY_METHOD: dict[Any, _Method] = {
    Method.PHOTO_DOCUMENT: _PhotoDocument(),
    Method.CREDIT_FILE: _Reference(),
    Method.DUAL_PROCESS: _DualProcess(),
    Method.RELIANCE: _Reference(),
}


class Verification(EntrySerializer):
    """The fields of the method that the data names."""

    varies_by, variants = "method", _BY_METHOD

    def validated(self, data: Any, *, born: date, ended: Mapping[str, Any] | None = None) -> dict[str, Any]:
        method = data.get("method")
        chosen = _BY_METHOD.get(method) if isinstance(method, str) else None
        return (chosen or _UnknownMethod()).validated(data, born=born)


# What compliance records


class ScreeningResult(TextChoices):
    """What the other system found."""

    CLEAR = "clear", _("Clear")
    POSSIBLE_MATCH = "possibleMatch", _("Possible match")


class Resolution(TextChoices):
    """What staff found of a possible match."""

    FALSE_POSITIVE = "falsePositive", _("False positive")
    CONFIRMED = "confirmed", _("Confirmed")


class Rating(TextChoices):
    """How risky."""

    LOW = "low", _("Low")
    MEDIUM = "medium", _("Medium")
    HIGH = "high", _("High")


class Request(TextChoices):
    """What is asked."""

    ACCESS = "access", _("Access")
    CORRECTION = "correction", _("Correction")
    COMPLAINT = "complaint", _("Complaint")
    ERASURE = "erasure", _("Erasure")


class Screening(EntrySerializer):
    """A result of screening a person against a list."""

    list = TextField(max_length=100)
    listDate = DateField(is_past=True)
    result = ChoiceField(ScreeningResult)
    reference = TextField(max_length=100, required=False)

    def check(self, values: dict[str, Any], errors: Errors, *, born: date, ended: Mapping[str, Any]) -> None:
        if values.get("result") == ScreeningResult.POSSIBLE_MATCH and not {"reference"} & {*values, *errors}:
            errors["reference"] = [ErrorDetail("This field is required.", "required")]


class ScreeningResolution(EntrySerializer):
    """How staff resolved a possible match."""

    resolution = ChoiceField(Resolution)
    note = NoteField(longest=MAX_NOTE)


class RiskRating(EntrySerializer):
    """How risky compliance rates a person, and when that is reviewed."""

    rating = ChoiceField(Rating)
    reason = NoteField(longest=MAX_NOTE)
    reviewOn = DateField()

    def check(self, values: dict[str, Any], errors: Errors, *, born: date, ended: Mapping[str, Any]) -> None:
        today = field_rules.today()
        # On 29 February, the text is that of a day which a common year does not have: it compares as one of its end.
        latest = f"{today.year + MAX_REVIEW_YEARS}{today.isoformat()[4:]}"
        if values.get("reviewOn", "") > latest:
            errors["reviewOn"] = out_of_range(f"Must be at most {MAX_REVIEW_YEARS} years ahead.")


class PersonRequest(EntrySerializer):
    """What a person asked of its data, and by when it is answered."""

    request = ChoiceField(Request)
    receivedOn = DateField(is_past=True)
    dueOn = DateField(required=False)
    identityCheck = TextField(max_length=500)

    def check(self, values: dict[str, Any], errors: Errors, *, born: date, ended: Mapping[str, Any]) -> None:
        if (received := values.get("receivedOn")) is None:
            return
        due = date.fromisoformat(received) + timedelta(days=DAYS_TO_ANSWER)
        if "dueOn" not in errors and values.setdefault("dueOn", due.isoformat()) < received:
            errors["dueOn"] = out_of_range("Must not be before it was received.")


class RequestOutcome(EntrySerializer):
    """How a request ended."""

    outcome = NoteField(longest=MAX_NOTE)
    closedOn = DateField(is_past=True)

    def check(self, values: dict[str, Any], errors: Errors, *, born: date, ended: Mapping[str, Any]) -> None:
        if values.get("closedOn", "9999") < ended.get("receivedOn", ""):
            errors["closedOn"] = out_of_range("Must not be before it was received.")
