"""POST /v1/sandbox/users/{externalId}/status: contract, section 11."""

from typing import Any

from django.http import HttpResponse

from core.database import statements
from partners.api.errors import invalid_parameter
from partners.api.request import PartnerRequest
from partners.api.rule_fields import ChoiceField, TextField
from partners.api.serializers import StrictSerializer
from partners.api.views import SandboxView
from sandbox.simulations.decisions import simulate_decision
from users import queries
from users.api import errors
from users.api.serializers import UserSerializer
from users.api.views import check_external_id
from users.decisions.compliance import REASON_CODE_LENGTH, ReasonCodeError
from users.models import Status, User
from users.queries import UserSummary
from users.requirements.requirements import with_requirements


class SimulatedDecisionSerializer(StrictSerializer[Any]):
    """A decision of compliance, simulated."""

    status = ChoiceField(Status)
    reasonCode = TextField(
        source="reason_code",
        min_length=0,
        max_length=REASON_CODE_LENGTH,
        required=False,
    )


class SandboxUserView(SandboxView):
    """A view of one user."""

    def get_user(self, external_id: str) -> User:
        """The partner's user. Raises BadRequestError, NotFoundError."""
        check_external_id(external_id)
        user = User.objects.filter(partner_id=self.request.user.partner_id, external_id=external_id).first()
        if user is None:
            raise errors.user_not_found()
        return user


class SimulatedStatus(SandboxUserView):
    """/v1/sandbox/users/{externalId}/status."""

    serializer_class = SimulatedDecisionSerializer
    response_serializer_class = UserSerializer

    def post(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        return self.write()

    def perform(self, external_id: str) -> UserSummary:
        """Decide. Raises BadRequestError, NotFoundError, RefusedError."""
        user = self.get_user(external_id)
        body = self.validated().validated_data
        try:
            simulate_decision(
                user=user,
                to_status=body["status"],
                reason_code=body.get("reason_code"),
                request_id=self.request.request_id,
            )
        except ReasonCodeError as error:
            raise invalid_parameter("reasonCode", str(error), "notAllowed") from None
        [summary] = statements.fetch(queries.find(user.partner_id, external_id))
        return with_requirements(summary)
