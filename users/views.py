"""Create, update and read a user: contract, section 9."""

from typing import Any

from django.http import HttpResponse

from partners.api.description import describes
from partners.api.errors import invalid_fields
from partners.api.idempotency import Answer
from partners.api.request import PartnerRequest
from partners.api.views import PartnerAPIView
from partners.signing import canonical_path
from partners.sql import Query
from users import profile, queries
from users.described import CREATE_USER, GET_USER, UPDATE_USER
from users.fields import external_id_problems
from users.queries import UserSummary
from users.serializers import UserSerializer


class UserView(PartnerAPIView):
    """An endpoint under one user."""

    def get_query(self, partner_id: int, external_id: str, **_: Any) -> Query[UserSummary]:  # type: ignore[override]
        """The user. Raises BadRequestError where the externalId breaks the rules of one."""
        _check_external_id(external_id)
        return queries.find(partner_id, external_id)

    def get_user(self) -> UserSummary:
        """The partner's user. Raises BadRequestError and NotFoundError."""
        rows: list[UserSummary] = self.get_rows()
        if not rows:
            raise profile.no_such_user()
        return rows[0]


class UserCollection(PartnerAPIView):
    """/v1/users."""

    serializer_class = UserSerializer

    @describes(CREATE_USER)
    def post(self, request: PartnerRequest) -> HttpResponse:
        """Registers a user."""

        def create() -> Answer:
            serializer = self.serializer_class(data=request.data)
            serializer.is_valid(raise_exception=True)
            created = profile.create_user(partner_id=request.user.partner_id, values=serializer.validated_data)
            location = f"/v1/users/{canonical_path(created['externalId'].encode())}"
            return Answer(201, self.renderer.render(created), location)

        return self.write(create)


class UserItem(UserView):
    """/v1/users/{externalId}."""

    serializer_class = UserSerializer

    @describes(GET_USER)
    def get(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        """The user's status."""
        return self.read(self.serializer_class(self.get_user()).data)

    @describes(UPDATE_USER)
    def patch(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        """Changes what the body holds."""

        def update() -> Answer:
            _check_external_id(external_id)
            stored = profile.lock_user(partner_id=request.user.partner_id, external_id=external_id)
            serializer = self.serializer_class(stored, data=request.data, partial=True)
            serializer.is_valid(raise_exception=True)
            user = profile.update_user(stored, values=serializer.validated_data)
            return Answer(200, self.renderer.render(self.serializer_class(user).data))

        return self.write(update)


def _check_external_id(external_id: str) -> None:
    """Raises BadRequestError where the externalId of a path breaks the rules of one."""
    if problems := external_id_problems(external_id):
        raise invalid_fields(problems)
