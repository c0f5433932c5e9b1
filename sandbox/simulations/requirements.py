"""Requirements that sandbox partners simulate: contract, section 13."""

from typing import Any

from django.http import HttpResponse

from partners.api.request import PartnerRequest
from partners.api.serializers import StrictSerializer
from sandbox.simulations.decisions import simulate_closing, simulate_requirement
from sandbox.simulations.status import SandboxUserView
from users.api.requirement_serializers import RequirementSerializer, SimulatedRequirementSerializer
from users.api.requirements import check_path, find_requirement, reread
from users.models import Requirement


class SimulatedRequirements(SandboxUserView):
    """/v1/sandbox/users/{externalId}/requirements."""

    serializer_class = SimulatedRequirementSerializer
    response_serializer_class = RequirementSerializer
    success_status = 201

    def post(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        return self.write()

    def perform(self, external_id: str) -> Requirement:
        """Open the requirement. Raises BadRequestError, NotFoundError, RefusedError."""
        user = self.get_user(external_id)
        body = self.validated().validated_data
        return reread(simulate_requirement(user=user, request_id=self.request.request_id, **body))


class ClosingSerializer(StrictSerializer[Any]):
    """An object without fields."""


class SimulatedClosing(SandboxUserView):
    """/v1/sandbox/users/{externalId}/requirements/{requirementId}/close."""

    serializer_class = ClosingSerializer
    response_serializer_class = RequirementSerializer

    def post(self, request: PartnerRequest, external_id: str, requirement_id: str) -> HttpResponse:
        return self.write()

    def perform(self, external_id: str, requirement_id: str) -> Requirement:
        """Close the requirement. Raises BadRequestError, NotFoundError, RefusedError."""
        check_path(external_id, requirement_id)
        requirement = find_requirement(self.get_user(external_id).pk, requirement_id)
        self.validated()
        simulate_closing(requirement=requirement, request_id=self.request.request_id)
        return reread(requirement)
