"""The methods by which an identity is verified, with their fields: contract, section 15."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from django.core.exceptions import ValidationError as DjangoValidationError
from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import ErrorDetail
from rest_framework.fields import get_error_detail

from partners.api.serializers import ChoiceField, Errors, ItemsField, RuleField, StrictSerializer, TextField
from users.file.kinds import DateField, EntrySerializer, out_of_range
from users.profile import field_rules
from users.profile.addresses import rules_for


class Method(TextChoices):
    """How an identity is verified."""

    PHOTO_DOCUMENT = "photoDocument", _("Photo document")
    CREDIT_FILE = "creditFile", _("Credit file")
    DUAL_PROCESS = "dualProcess", _("Dual process")
    RELIANCE = "reliance", _("Reliance on another entity")


class DocumentType(TextChoices):
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


class _Verification(EntrySerializer):
    method = ChoiceField(Method)
    verifiedOn = DateField(is_past=True)

    def check(self, values: dict[str, Any], errors: Errors, *, born: date, ended: Mapping[str, Any]) -> None:
        if values.get("verifiedOn", "9999") < born.isoformat():
            errors["verifiedOn"] = out_of_range("Must not be before the user's birth date.")


class _PhotoDocument(_Verification):
    documentType = ChoiceField(DocumentType)
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


class _Reference(_Verification):
    """Of a credit file, or of an agreement with the entity that verified."""

    source = TextField(max_length=100)  # type: ignore[assignment]  # DRF keeps its own attribute of this name
    reference = TextField(max_length=100)


class _Source(StrictSerializer[Any]):
    source = TextField(max_length=100)  # type: ignore[assignment]  # DRF keeps its own attribute of this name
    information = ChoiceField(Information)
    reference = TextField(max_length=100)


class _DualProcess(_Verification):
    sources = ItemsField(child=_Source(), min_length=2, max_length=2)

    def check(self, values: dict[str, Any], errors: Errors, *, born: date, ended: Mapping[str, Any]) -> None:
        super().check(values, errors, born=born, ended=ended)
        first, second = values.get("sources") or ({}, {})
        same = [name for name in first if name != "reference" and first[name].casefold() == second[name].casefold()]
        if same:
            detail = [ErrorDetail("Must differ from that of the other source.", "inconsistent")]
            errors["sources"] = {1: dict.fromkeys(same, detail)}


class _UnknownMethod(_Verification):
    """The method itself is wrong: what belongs to one of them is not judged."""

    def check(self, values: dict[str, Any], errors: Errors, *, born: date, ended: Mapping[str, Any]) -> None:
        super().check(values, errors, born=born, ended=ended)
        for name in {name for one in _BY_METHOD.values() for name in one.fields_by_name} - {*self.fields_by_name}:
            errors.pop(name, None)


_BY_METHOD: dict[Any, _Verification] = {
    Method.PHOTO_DOCUMENT: _PhotoDocument(),
    Method.CREDIT_FILE: _Reference(),
    Method.DUAL_PROCESS: _DualProcess(),
    Method.RELIANCE: _Reference(),
}


class VerificationSerializer(EntrySerializer):
    """The fields of the method that the data names."""

    varies_by, variants = "method", _BY_METHOD

    def validated(self, data: Any, *, born: date, ended: Mapping[str, Any] | None = None) -> dict[str, Any]:
        method = data.get("method")
        chosen = _BY_METHOD.get(method) if isinstance(method, str) else None
        return (chosen or _UnknownMethod()).validated(data, born=born)
