"""Create, update and read a user: contract, section 9."""

from typing import Any

from django.http import HttpResponse

from core.database.query import Query
from core.database.statements import Row
from partners.api.base import PartnerAPIView
from partners.api.errors import ConflictError
from partners.api.request import PartnerRequest
from partners.authentication.signatures import canonical_path
from users import queries
from users import updates as profile
from users.api.pagination import UserPagination
from users.api.paths import check_external_id, found
from users.api.serializers import CREATE, NEW_USER, UPDATE, USER
from users.queries import StoredUser, UserSummary
from users.requirements.lifecycle import with_requirements


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
            creation = profile.creation(partner_id=request.user.partner_id, external_id=external_id, profile=new)
            created = claim.send(creation)
            if claim.is_new:
                if not created:
                    raise ConflictError("A user with this externalId already exists.")
                location = f"/v1/users/{canonical_path(external_id.encode())}"
                claim.respond(201, NEW_USER.to_representation(created[0]), location=location)
        return claim.response


class UserItem(PartnerAPIView):
    """/v1/users/{externalId}."""

    refuse_signature_reuse = True

    def get_query(self, partner_id: int, external_id: str) -> Query[Row]:  # type: ignore[override]
        check_external_id(external_id)
        return queries.find(partner_id, external_id)

    def get(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        user = UserSummary(*found(self.get_rows()))
        return self.read(USER.to_representation(with_requirements(user) if user.has_requirements else user))

    def patch(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        with self.once() as claim:
            check_external_id(external_id)
            rows = claim.send(queries.lock(request.user.partner_id, external_id))
            if claim.is_new:
                stored = StoredUser.of(found(rows))
                changed, columns = UPDATE.updated(request.data, stored.profile)
                user = profile.update_user(user=stored, profile=changed, columns=columns)
                claim.respond(200, USER.to_representation(user))
        return claim.response
