"""POST /v1/sandbox/users/{externalId}/status: contract, section 11."""

from typing import Any

from django.http import HttpResponse

from partners.api.errors import invalid_parameter
from partners.api.request import PartnerRequest
from partners.api.serializers import ChoiceField, StrictSerializer, TextField
from sandbox.simulations.decisions import simulate_decision
from sandbox.views import SandboxView
from users import queries
from users.api.serializers import user_json
from users.api.views import check_external_id, found
from users.decisions.compliance import REASON_CODE_LENGTH, ReasonCodeError
from users.models import Status, User
from users.requirements import with_requirements


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
        users = User.objects.filter(partner_id=self.request.user.partner_id, external_id=external_id)
        return found(list(users))


class SimulatedStatus(SandboxUserView):
    """/v1/sandbox/users/{externalId}/status."""

    serializer_class = SimulatedDecisionSerializer

    def post(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        with self.once() as claim:
            if claim.is_new:
                user = self.get_user(external_id)
                body = self.validated()
                try:
                    simulate_decision(
                        user=user,
                        to_status=body["status"],
                        reason_code=body.get("reason_code"),
                        request_id=request.request_id,
                    )
                except ReasonCodeError as error:
                    raise invalid_parameter("reasonCode", str(error), "notAllowed") from None
                summary = queries.reread(user.pk)
                claim.respond(200, user_json(with_requirements(summary)))
        return claim.response
