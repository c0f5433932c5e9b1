"""Users, the answers to requirements, and verifications of identity: contract, sections 9, 13 and 15."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from orjson import Fragment

from core.database.pipeline import Query, T
from core.database.statements import Row
from core.formats import is_uuid
from partners.api.base import PartnerAPIView
from partners.api.errors import BadRequestError, ConflictError, FieldError, NotFoundError
from partners.api.lists import CursorFormat, KeysetList, KeysetPagination, Page, code_of, single
from partners.api.request import PartnerRequest
from partners.authentication.signatures import canonical_path
from users import queries, requirements
from users.api.serializers import CREATE, UPDATE, RequirementNoteSerializer, requirement_json, user_json
from users.file import entries
from users.models import FileKind, Requirement, Status, User
from users.profile import field_rules
from users.queries import StoredUser, UserSummary

# The highest UUID has so many digits.
CURSOR = CursorFormat(39)
NOT_A_STATUS = f"Must be one of: {', '.join(Status.values)}."

USERS = KeysetList(
    table="users_user",
    item=User.wire,
    owner="SELECT %s::bigint AS id",
    of_owner="partner_id = owner.id",
    key={"created_at": "timestamptz", "id": "uuid"},
)
USERS_OF_STATUS = replace(USERS, owner="SELECT %s::bigint AS id, %s::text AS status", is_listed="status = owner.status")


class UserPagination(KeysetPagination):
    """Reads `cursor`, `limit` and `status`."""

    status: str | None = None

    def parse(self, cursor: str) -> tuple[str, UUID] | None:
        """The createdAt and userId that a cursor names; None if it is malformed."""
        created_at, number = CURSOR.parse(cursor) or ("", -1)
        return (created_at, UUID(int=number)) if 0 <= number < 1 << 128 else None

    def cursor_of(self, position: Sequence[Any]) -> str:
        """The cursor that names a position."""
        created_at, user_id = position
        return CURSOR.write(created_at, UUID(user_id).int)

    def read(self, parameters: Mapping[str, Sequence[str]]) -> list[FieldError]:
        """Read the query parameters; returns their errors."""
        errors = super().read(parameters)
        if "status" in parameters:
            self.status = single(parameters["status"])
            if self.status not in Status.values:
                errors.append(FieldError("status", NOT_A_STATUS, code_of(parameters["status"], "notAllowed")))
        return errors

    def query(self, partner_id: int) -> Query[Page]:
        """The query of the page. Raises BadRequestError for parameters that are not valid."""
        self.require_valid()
        if self.status is None:
            return USERS.page((partner_id,), self.start, self.limit)
        return USERS_OF_STATUS.page((partner_id, self.status), self.start, self.limit)


class UserCollection(PartnerAPIView):
    """/v1/users."""

    pagination_class = UserPagination

    paginator: UserPagination

    def get_query(self, partner_id: int) -> Query[Any]:  # type: ignore[override]
        return self.paginator.query(partner_id)

    def get(self, request: PartnerRequest) -> HttpResponse:
        [page] = self.get_rows()
        return self.paginator.get_paginated_response(page)

    def post(self, request: PartnerRequest) -> HttpResponse:
        with self.once() as claim:
            external_id, new = CREATE.new_user(request.data)
            created = claim.send(queries.insert(request.user.partner_id, external_id, new))
            if claim.is_new:
                if not created:
                    raise ConflictError("A user with this externalId already exists.")
                location = f"/v1/users/{canonical_path(external_id.encode())}"
                claim.respond(
                    201, dict(zip(("userId", "externalId", "status"), created[0], strict=True)), location=location
                )
        return claim.response


class UserItem(PartnerAPIView):
    """/v1/users/{externalId}."""

    refuse_signature_reuse = True

    def get_query(self, partner_id: int, external_id: str) -> Query[Row]:  # type: ignore[override]
        check_external_id(external_id)
        return queries.find(partner_id, external_id)

    def get(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        user = UserSummary(*found(self.get_rows()))
        return self.read(user_json(requirements.with_requirements(user) if user.has_requirements else user))

    def patch(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        with self.once() as claim:
            check_external_id(external_id)
            rows = claim.send(queries.lock(request.user.partner_id, external_id, key=claim.key))
            if claim.is_new:
                stored = StoredUser.of(found(rows))
                changed, columns = UPDATE.updated(request.data, stored.profile)
                user = requirements.update_user(user=stored, profile=changed, columns=columns)
                claim.respond(200, user_json(user))
        return claim.response


class RequirementResponses(PartnerAPIView):
    """/v1/users/{externalId}/requirements/{requirementId}/response."""

    serializer_class = RequirementNoteSerializer
    refuse_signature_reuse = True

    def post(self, request: PartnerRequest, external_id: str, requirement_id: str) -> HttpResponse:
        with self.once() as claim:
            check_external_id(external_id, requirement_id)
            rows = claim.send(queries.lock(request.user.partner_id, external_id, key=claim.key))
            if claim.is_new:
                user = StoredUser.of(found(rows)).summary
                requirement = find_requirement(user.id, requirement_id)
                note = self.validated()["note"]
                requirements.respond(requirement=requirement, note=note)
                claim.respond(200, shown(requirement))
        return claim.response


class VerificationCollection(PartnerAPIView):
    """/v1/users/{externalId}/verifications."""

    refuse_signature_reuse = True

    def get_query(self, partner_id: int, external_id: str) -> Query[Row]:  # type: ignore[override]
        check_external_id(external_id)
        return queries.find_verifications(partner_id, external_id)

    def get(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        [items] = found(self.get_rows())
        return self.read({"items": Fragment(items)})

    def post(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        with self.once() as claim:
            check_external_id(external_id)
            rows = claim.send(queries.lock(request.user.partner_id, external_id, key=claim.key))
            if claim.is_new:
                user = StoredUser.of(found(rows))
                born, kind = user.profile.date_of_birth, FileKind.IDENTITY_VERIFICATION
                entries.record(user_id=user.summary.id, born=born, kind=kind, data=request.data)
                claim.respond(201, user_json(queries.reread(user.summary.id))["verification"])
        return claim.response


def find_requirement(user_id: UUID | str, requirement_id: str) -> Requirement:
    """A user's requirement. Raises NotFoundError."""
    requirement = Requirement.objects.filter(user_id=user_id, pk=requirement_id).first()
    if requirement is None:
        raise NotFoundError("Requirement not found.")
    return requirement


def shown(requirement: Requirement) -> object:
    """The requirement as a partner sees it, with its state as it is now."""
    return requirement_json(Requirement.objects.with_state().get(pk=requirement.pk))


# What paths under /v1/users name: contract, section 1


def check_external_id(external_id: str, requirement_id: str | None = None) -> None:
    """Raise BadRequestError where the externalId is not valid, or the requirementId, if any."""
    field_errors = external_id_errors(external_id)
    if requirement_id is not None and not is_uuid(requirement_id):
        field_errors.append(FieldError("requirementId", "Must be a UUID.", "format"))
    if field_errors:
        raise BadRequestError(field_errors=field_errors)


def external_id_errors(external_id: str) -> list[FieldError]:
    """The errors of the externalId, if any."""
    try:
        field_rules.external_id(external_id)
    except ValidationError as error:
        return [FieldError("externalId", str(error.message), error.code or "format")]
    return []


def found(users: Sequence[T]) -> T:
    """The user that a query has found. Raises NotFoundError, whether or not another partner has one."""
    if not users:
        raise NotFoundError("User not found.")
    return users[0]
