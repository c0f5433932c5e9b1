"""POST /v1/users/{externalId}/requirements/{requirementId}/response: contract, section 13."""

from uuid import UUID

from django.http import HttpResponse

from core.formats.uuids import is_uuid
from partners.api.errors import BadRequestError, FieldError
from partners.api.request import PartnerRequest
from users.api import errors
from users.api.requirement_serializers import RequirementNoteSerializer, RequirementSerializer
from users.api.views import UserView
from users.models import Requirement
from users.requirements import requirements


def check_path(external_id: str, requirement_id: str) -> None:
    """Raise BadRequestError where a part of the path is not valid."""
    field_errors = errors.external_id_errors(external_id)
    if not is_uuid(requirement_id):
        field_errors.append(FieldError("requirementId", errors.NOT_A_UUID, "format"))
    if field_errors:
        raise BadRequestError(field_errors=field_errors)


def find_requirement(user_id: UUID | str, requirement_id: str) -> Requirement:
    """A user's requirement. Raises NotFoundError."""
    found = Requirement.objects.filter(user_id=user_id, pk=requirement_id).first()
    if found is None:
        raise errors.requirement_not_found()
    return found


def reread(requirement: Requirement) -> Requirement:
    """The requirement with its state, as it is now."""
    stored: Requirement = Requirement.objects.with_state().get(pk=requirement.pk)
    return stored


class RequirementResponses(UserView):
    """/v1/users/{externalId}/requirements/{requirementId}/response."""

    serializer_class = RequirementNoteSerializer
    response_serializer_class = RequirementSerializer
    refuse_signature_reuse = True

    def post(self, request: PartnerRequest, external_id: str, requirement_id: str) -> HttpResponse:
        return self.write()

    def perform(self, external_id: str, requirement_id: str) -> Requirement:
        """Record the note. Raises BadRequestError, NotFoundError, RefusedError."""
        check_path(external_id, requirement_id)
        user = self.get_locked_user()
        requirement = find_requirement(user.summary.id, requirement_id)
        note = self.validated().validated_data["note"]
        requirements.respond(requirement=requirement, user_status=user.summary.status, note=note)
        return reread(requirement)
