"""What sandbox partners simulate (contract, sections 11 and 13), by compliance's rules, as `sandbox`, and imports'."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import structlog
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL
from django.http import HttpResponse
from orjson import Fragment

from core import json_rules
from core.database.schema import wire_time
from core.formats import format_timestamp
from core.refusals import RefusedError
from partners.api.errors import UnavailableError, invalid_parameter
from partners.api.request import PartnerRequest
from partners.api.serializers import ChoiceField, ItemsField, RuleField, StrictSerializer, TextField, WholeNumberField
from sandbox.views import NoFieldsSerializer, SandboxUserView
from staff.models import Staff
from transactions import imports
from transactions.documents.file_types import pdf
from transactions.documents.publishing import StorageError, discard, publish
from transactions.models import TITLE_LENGTH, Conversion, Document, DocumentType
from users import queries
from users.api.serializers import user_json
from users.api.views import check_external_id, find_requirement, shown
from users.decisions.compliance import Decision, ReasonCodeError, decide
from users.decisions.reasons import Reason
from users.models import RequirementCode, Status, User
from users.models.columns import FIELD_NAMES
from users.models.requirements import MAX_DUE_DAYS, MESSAGE_LENGTH
from users.requirements import (
    DEFAULT_DUE_DAYS,
    close_requirement,
    forbidden_words,
    hidden_parts,
    open_requirement,
    with_requirements,
)

log = structlog.get_logger("sandbox.simulated")

ROLE = "reviewer"
REASON = "Simulated by the partner."
_COLUMNS = {name: column for column, name in FIELD_NAMES.items()}
# A partner waits for the answer, unlike an import.
STATEMENT_SECONDS, LOCK_SECONDS = 4, 3
OTHER_CONTENT = "A conversion with this conversionId and other content exists."
# A simulated import has at most so many items.
MAX_ITEMS = 100


def made_by(user: User, request_id: str) -> dict[str, Any]:
    """The account and the origin of a simulated act. Raises ValueError for a user who is real."""
    if not user.is_sandbox:
        raise ValueError("Decisions about real users are not simulated.")
    # Nobody can log in to it.
    unusable = {"is_staff": False, "password": "!"}
    account, is_new = Staff.objects.get_or_create(username=Staff.SANDBOX, defaults=unusable)
    if is_new:
        account.groups.add(Group.objects.get(name=ROLE))
    return {"by": account, "source": f"sandbox request {request_id}"}


def _reason_code(value: Any) -> str:
    """A code of any move; "" for another text, which is refused as that of another move is (contract, section 13)."""
    if not isinstance(value, str):
        raise ValidationError("Must be a string.", code="type")
    return value if value in Reason.values else ""


class SimulatedDecisionSerializer(StrictSerializer[Any]):
    """A decision of compliance, simulated."""

    status = ChoiceField(Status)
    reasonCode = RuleField(_reason_code, source="reason_code", required=False)


class SimulatedStatus(SandboxUserView):
    """/v1/sandbox/users/{externalId}/status."""

    serializer_class = SimulatedDecisionSerializer

    def post(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        with self.once() as claim:
            if claim.is_new:
                user, body = self.get_user(external_id), self.validated()
                by = made_by(user, request.request_id)
                code = body.get("reason_code")
                try:
                    decide(Decision(user=user, to_status=body["status"], reason=REASON, reason_code=code, **by))
                except ReasonCodeError as error:
                    raise invalid_parameter("reasonCode", str(error), "notAllowed") from None
                claim.respond(200, user_json(with_requirements(queries.reread(user.pk))))
        return claim.response


def _column(value: Any) -> str:
    name = json_rules.clean_text(value)
    if name not in _COLUMNS:
        raise ValidationError(f"Must be one of: {', '.join(_COLUMNS)}.", code="notAllowed")
    return _COLUMNS[name]


def _message(value: Any) -> str:
    message = json_rules.text_of_lines(value, shortest=0, longest=MESSAGE_LENGTH)
    if parts := hidden_parts(message):
        text = "Must not contain invisible characters, or letters of two scripts in one word"
        raise ValidationError(f"{text}: {', '.join(parts)}.", code="notAllowed")
    if words := forbidden_words(message):
        raise ValidationError(f"Must not contain: {', '.join(words)}.", code="notAllowed")
    return message


class SimulatedRequirementSerializer(StrictSerializer[Any]):
    """A requirement of compliance, simulated."""

    code = ChoiceField(RequirementCode)
    fields = ItemsField(  # type: ignore[assignment]  # DRF keeps its own attribute of this name
        child=RuleField(_column), min_length=0, max_length=len(FIELD_NAMES), default=list
    )
    message = RuleField(_message, default="", allow_null=True)
    dueInDays = WholeNumberField(lowest=1, highest=MAX_DUE_DAYS, source="due_in_days", default=DEFAULT_DUE_DAYS)

    def validate_message(self, value: str | None) -> str:
        return value or ""


class SimulatedRequirements(SandboxUserView):
    """/v1/sandbox/users/{externalId}/requirements."""

    serializer_class = SimulatedRequirementSerializer

    def post(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        with self.once() as claim:
            if claim.is_new:
                user = self.get_user(external_id)
                asked = self.validated() | made_by(user, request.request_id)
                claim.respond(201, shown(open_requirement(user=user, **asked)))
        return claim.response


class SimulatedClosing(SandboxUserView):
    """/v1/sandbox/users/{externalId}/requirements/{requirementId}/close."""

    serializer_class = NoFieldsSerializer

    def post(self, request: PartnerRequest, external_id: str, requirement_id: str) -> HttpResponse:
        with self.once() as claim:
            if claim.is_new:
                check_external_id(external_id, requirement_id)
                user = self.get_user(external_id)
                requirement = find_requirement(user.pk, requirement_id)
                self.validated()
                close_requirement(requirement_id=requirement.pk, **made_by(user, request.request_id))
                claim.respond(200, shown(requirement))
        return claim.response


# Conversions and documents


class SimulatedMoneySerializer(StrictSerializer[Any]):
    """An amount in a currency, to be recorded."""

    not_an_object = imports.NOT_A_SIDE

    currency = RuleField(imports.currency)
    amount = RuleField(imports.decimal)


class SimulatedConversionSerializer(StrictSerializer[Any]):
    """A conversion to be recorded."""

    conversionId = RuleField(imports.conversion_id, required=False)
    createdAt = RuleField(imports.created_at, required=False)
    from_ = SimulatedMoneySerializer(error_messages={"null": SimulatedMoneySerializer.not_an_object})
    to = SimulatedMoneySerializer(error_messages={"null": SimulatedMoneySerializer.not_an_object})
    rate = RuleField(imports.rate)

    def get_fields(self) -> dict[str, Any]:
        """The declared fields, `from_` under its name on the wire."""
        return {name.removesuffix("_"): field for name, field in super().get_fields().items()}


class SimulatedConversionsSerializer(StrictSerializer[Any]):
    """Conversions to be recorded, all or none."""

    items = ItemsField(
        child=SimulatedConversionSerializer(error_messages={"null": StrictSerializer.not_an_object}),
        min_length=1,
        max_length=MAX_ITEMS,
    )


class SimulatedDocumentSerializer(StrictSerializer[Any]):
    """A document to be published."""

    type = ChoiceField(DocumentType)
    title = TextField(max_length=TITLE_LENGTH)


def simulate_conversions(*, user: User, slug: str, items: Sequence[Mapping[str, Any]]) -> list[str]:
    """Record conversions of a sandbox user, all or none; return their JSON in the order of the items.

    slug: of the user's partner. items: of SimulatedConversionSerializer; `conversionId` and `createdAt` may be absent.
    One that is recorded already with the same content is returned as it is.
    Raises RefusedError; ValueError for a user who is real.
    """
    if not user.is_sandbox:
        raise ValueError("Conversions of real users are not simulated.")
    rows, ids = dict[int, imports.Row](), list[str]()
    now = format_timestamp(datetime.now(UTC))
    # Sent again without a time, a conversion is the same: of simultaneous requests, the later ones wait and find it.
    untimed = [item["conversionId"] for item in items if "conversionId" in item and "createdAt" not in item]
    if untimed:
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
    times = {conversion_id: created_at for conversion_id, created_at, _item in _recorded(user, untimed)}
    for index, item in enumerate(items):
        conversion_id = item.get("conversionId") or f"sandbox-{uuid.uuid4()}"
        created_at = item["createdAt"].isoformat() if "createdAt" in item else times.get(conversion_id, now)
        times.setdefault(conversion_id, created_at)
        sides = [item[side][part] for side in ("from", "to") for part in ("currency", "amount")]
        rows[index] = (slug, user.external_id, conversion_id, created_at, "conversion", *sides, item["rate"])
        ids.append(conversion_id)
    _, other = imports.store(rows, statement_seconds=STATEMENT_SECONDS, lock_seconds=LOCK_SECONDS)
    if other:
        raise RefusedError(f"items[{min(other)}]: {OTHER_CONTENT}")
    written = {conversion_id: item for conversion_id, _created_at, item in _recorded(user, ids)}
    return [written[conversion_id] for conversion_id in ids]


def _recorded(user: User, ids: Sequence[str]) -> QuerySet[Any, tuple[str, str, str]]:
    """The conversions of the user's partner with these ids: id, createdAt and the item, as a list has them."""
    rows = Conversion.objects.filter(partner=user.partner_id, conversion_id__in=ids)
    return rows.values_list("conversion_id", RawSQL(wire_time("created_at"), ()), RawSQL(Conversion.wire, ()))  # noqa: S611


class SimulatedTransactions(SandboxUserView):
    """/v1/sandbox/users/{externalId}/transactions."""

    serializer_class = SimulatedConversionsSerializer

    def post(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        with self.once() as claim:
            if claim.is_new:
                user = self.get_user(external_id)
                items = self.validated()["items"]
                rows = simulate_conversions(user=user, slug=request.user.partner_slug, items=items)
                claim.respond(201, {"items": [Fragment(one) for one in rows]})
        return claim.response


class SimulatedDocuments(SandboxUserView):
    """/v1/sandbox/users/{externalId}/documents."""

    serializer_class = SimulatedDocumentSerializer

    def post(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        document = None
        try:
            with self.once() as claim:
                if claim.is_new:
                    user = self.get_user(external_id)
                    body = self.validated()
                    document = publish(
                        user=user,
                        content=pdf(("SAMPLE", "", "A document of the sandbox, not a real one.")),
                        kind=body["type"],
                        title=body["title"],
                        content_type="application/pdf",
                    )
                    rows = Document.objects.filter(pk=document.pk)
                    claim.respond(201, Fragment(rows.values_list(RawSQL(Document.wire, ()), flat=True).get()))  # noqa: S611
        except StorageError:
            log.exception("document could not be stored")
            raise UnavailableError from None
        except BaseException as error:
            # Its file, if the row was rolled back.
            if document is not None:
                discard(document, error)
            raise
        return claim.response
