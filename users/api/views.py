"""Create, update and read a user: contract, section 9."""

from functools import cached_property
from typing import Any

from django.http import HttpResponse

from core.database.query import Query
from partners.api.base import PartnerAPIView
from partners.api.errors import ApiError, BadRequestError
from partners.api.request import PartnerRequest
from partners.authentication.signatures import canonical_path
from users import queries
from users import updates as profile
from users.api import errors
from users.api.pagination import UserPagination
from users.api.serializers import CreatedUserSerializer, UserSerializer
from users.queries import NewUser, StoredUser, UserSummary
from users.requirements.requirements import with_requirements


class UserView(PartnerAPIView):
    """The base of endpoints under one user."""

    def get_query(self, partner_id: int, external_id: str, **_: Any) -> Query[Any] | None:  # type: ignore[override]
        if errors.external_id_errors(external_id):
            return None
        find = queries.find if self.request.method == "GET" else queries.lock
        return find(partner_id, external_id)

    def get_user(self) -> UserSummary:
        """The partner's user. Raises BadRequestError, NotFoundError."""
        user: UserSummary = self._get_row()
        return user

    def get_locked_user(self) -> StoredUser:
        """The partner's user, locked until the transaction of a write ends. Raises BadRequestError, NotFoundError."""
        user: StoredUser = self._get_row()
        return user

    def _get_row(self) -> Any:
        check_external_id(self.kwargs["external_id"])
        rows = self.get_rows()
        if not rows:
            raise errors.user_not_found()
        return rows[0]


class UserCollection(PartnerAPIView):
    """/v1/users."""

    serializer_class = UserSerializer
    response_serializer_class = CreatedUserSerializer
    success_status = 201
    pagination_class = UserPagination

    paginator: UserPagination

    @cached_property
    def new_user(self) -> UserSerializer:
        """The valid body of a create. Raises BadRequestError, UnprocessableEntityError."""
        serializer: UserSerializer = self.validated()
        return serializer

    def get_query(self, partner_id: int) -> Query[Any] | None:  # type: ignore[override]
        if self.request.method == "POST":
            try:
                new_user = self.new_user
            except ApiError:
                # `perform` raises it, after idempotency in the order of checks.
                return None
            external_id = new_user.validated_data["external_id"]
            return profile.creation(partner_id=partner_id, external_id=external_id, profile=new_user.profile)
        return self.paginator.query(partner_id)

    def get(self, request: PartnerRequest) -> HttpResponse:
        [page] = self.get_rows()
        return self.paginator.get_paginated_response(page)

    def post(self, request: PartnerRequest) -> HttpResponse:
        return self.write()

    def perform(self) -> NewUser:
        """Register the user. Raises BadRequestError, UnprocessableEntityError, ConflictError."""
        self.new_user  # noqa: B018 - raises
        created: list[NewUser] = self.get_rows()
        if not created:
            raise errors.external_id_taken()
        return created[0]

    def get_location(self, result: NewUser) -> str:
        """The path of the new user."""
        return f"/v1/users/{canonical_path(result.external_id.encode())}"


class UserItem(UserView):
    """/v1/users/{externalId}."""

    serializer_class = response_serializer_class = UserSerializer
    refuse_signature_reuse = True

    def get(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        return self.read(self.response_serializer_class(with_requirements(self.get_user())).data)

    def patch(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        return self.write()

    def perform(self, external_id: str) -> UserSummary:
        """Update the user. Raises BadRequestError, UnprocessableEntityError, NotFoundError."""
        stored = self.get_locked_user()
        serializer = self.validated(stored.profile, partial=True)
        columns = serializer.validated_data.keys()
        return with_requirements(profile.update_user(user=stored, profile=serializer.profile, columns=columns))


def check_external_id(external_id: str) -> None:
    """Raise BadRequestError where the externalId of a path is not valid."""
    if field_errors := errors.external_id_errors(external_id):
        raise BadRequestError(field_errors=field_errors)
