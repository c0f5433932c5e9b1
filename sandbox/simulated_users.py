"""Decisions and requirements that a sandbox partner simulates: contract, sections 11 and 13.

They follow the rules of compliance, in the name of the account `sandbox`.
"""

from typing import Any

from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.http import HttpResponse

from core import json_rules
from partners.api.errors import invalid_parameter
from partners.api.request import PartnerRequest
from partners.api.serializers import ChoiceField, ItemsField, RuleField, StrictSerializer, TextField, WholeNumberField
from sandbox.views import NoFieldsSerializer, SandboxUserView
from staff.models import Staff
from users import queries
from users.api.serializers import user_json
from users.api.views import check_requirement, find_requirement, shown
from users.decisions.compliance import REASON_CODE_LENGTH, Decision, ReasonCodeError, decide
from users.models import RequirementCode, Status, StatusChange, User
from users.models.columns import FIELD_NAMES
from users.models.requirements import MAX_DUE_DAYS, MESSAGE_LENGTH
from users.requirements import DEFAULT_DUE_DAYS, close_requirement, open_requirement, with_requirements
from users.wording import forbidden_words, hidden_parts

ROLE = "reviewer"
REASON = "Simulated by the partner."
_COLUMNS = {name: column for column, name in FIELD_NAMES.items()}


def simulate_decision(*, user: User, to_status: str, reason_code: str | None = None, request_id: str) -> StatusChange:
    """Move the status of a sandbox user. Raises RefusedError; ValueError for a user who is real."""
    made_by = _made_by(user, request_id)
    return decide(Decision(user=user, to_status=to_status, reason=REASON, reason_code=reason_code, **made_by))


def _made_by(user: User, request_id: str) -> dict[str, Any]:
    """The account and the origin of a simulated act. Raises ValueError for a user who is real."""
    if not user.is_sandbox:
        raise ValueError("Decisions about real users are not simulated.")
    # Nobody can log in to it.
    unusable = {"is_staff": False, "password": "!"}
    account, is_new = Staff.objects.get_or_create(username=Staff.SANDBOX, defaults=unusable)
    if is_new:
        account.groups.add(Group.objects.get(name=ROLE))
    return {"by": account, "source": f"sandbox request {request_id}"}


class SimulatedDecisionSerializer(StrictSerializer[Any]):
    """A decision of compliance, simulated."""

    status = ChoiceField(Status)
    reasonCode = TextField(source="reason_code", min_length=0, max_length=REASON_CODE_LENGTH, required=False)


class SimulatedStatus(SandboxUserView):
    """/v1/sandbox/users/{externalId}/status."""

    serializer_class = SimulatedDecisionSerializer

    def post(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        with self.once() as claim:
            if claim.is_new:
                user, body = self.get_user(external_id), self.validated()
                decided = {"to_status": body["status"], "reason_code": body.get("reason_code")}
                try:
                    simulate_decision(user=user, request_id=request.request_id, **decided)
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
                asked = self.validated() | _made_by(user, request.request_id)
                claim.respond(201, shown(open_requirement(user=user, **asked)))
        return claim.response


class SimulatedClosing(SandboxUserView):
    """/v1/sandbox/users/{externalId}/requirements/{requirementId}/close."""

    serializer_class = NoFieldsSerializer

    def post(self, request: PartnerRequest, external_id: str, requirement_id: str) -> HttpResponse:
        with self.once() as claim:
            if claim.is_new:
                check_requirement(external_id, requirement_id)
                user = self.get_user(external_id)
                requirement = find_requirement(user.pk, requirement_id)
                self.validated()
                close_requirement(requirement_id=requirement.pk, **_made_by(user, request.request_id))
                claim.respond(200, shown(requirement))
        return claim.response
