"""Requirements that sandbox partners simulate: contract, section 13."""

from django.http import HttpResponse

from partners.api.request import PartnerRequest
from sandbox.serializers import NoFieldsSerializer
from sandbox.simulations.decisions import simulate_closing, simulate_requirement
from sandbox.simulations.status import SandboxUserView
from users.api.serializers import SimulatedRequirementSerializer
from users.api.views import check_requirement, find_requirement, shown


class SimulatedRequirements(SandboxUserView):
    """/v1/sandbox/users/{externalId}/requirements."""

    serializer_class = SimulatedRequirementSerializer

    def post(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        with self.once() as claim:
            if claim.is_new:
                user = self.get_user(external_id)
                requirement = simulate_requirement(user=user, request_id=request.request_id, **self.validated())
                claim.respond(201, shown(requirement))
        return claim.response


class SimulatedClosing(SandboxUserView):
    """/v1/sandbox/users/{externalId}/requirements/{requirementId}/close."""

    serializer_class = NoFieldsSerializer

    def post(self, request: PartnerRequest, external_id: str, requirement_id: str) -> HttpResponse:
        with self.once() as claim:
            if claim.is_new:
                check_requirement(external_id, requirement_id)
                requirement = find_requirement(self.get_user(external_id).pk, requirement_id)
                self.validated()
                simulate_closing(requirement=requirement, request_id=request.request_id)
                claim.respond(200, shown(requirement))
        return claim.response
