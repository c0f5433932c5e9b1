"""POST /v1/users/{externalId}/requirements/{requirementId}/response: contract, section 13."""

from uuid import UUID

from django.http import HttpResponse

from partners.api.base import PartnerAPIView
from partners.api.errors import NotFoundError
from partners.api.request import PartnerRequest
from users import queries
from users.api.paths import check_requirement, found
from users.api.requirement_serializers import RequirementNoteSerializer, RequirementSerializer
from users.models import Requirement
from users.queries import StoredUser
from users.requirements import lifecycle


class RequirementResponses(PartnerAPIView):
    """/v1/users/{externalId}/requirements/{requirementId}/response."""

    serializer_class = RequirementNoteSerializer
    refuse_signature_reuse = True

    def post(self, request: PartnerRequest, external_id: str, requirement_id: str) -> HttpResponse:
        with self.once() as claim:
            check_requirement(external_id, requirement_id)
            rows = claim.send(queries.lock(request.user.partner_id, external_id))
            if claim.is_new:
                user = StoredUser.of(found(rows)).summary
                requirement = find_requirement(user.id, requirement_id)
                note = self.validated()["note"]
                lifecycle.respond(requirement=requirement, note=note)
                claim.respond(200, shown(requirement))
        return claim.response


def find_requirement(user_id: UUID | str, requirement_id: str) -> Requirement:
    """A user's requirement. Raises NotFoundError."""
    requirement = Requirement.objects.filter(user_id=user_id, pk=requirement_id).first()
    if requirement is None:
        raise NotFoundError("Requirement not found.")
    return requirement


def shown(requirement: Requirement) -> object:
    """The requirement as a partner sees it, with its state as it is now."""
    return RequirementSerializer(Requirement.objects.with_state().get(pk=requirement.pk)).data
