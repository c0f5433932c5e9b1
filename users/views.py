"""Create, update and read a user: contract, section 9."""

from partners.api.description import describes
from partners.api.errors import invalid_fields
from partners.api.idempotency import Answer
from partners.api.json import render
from partners.api.request import ServiceRequest
from partners.api.response import JsonResponse
from partners.api.views import PartnerAPIView
from partners.signing import canonical_path
from users import profile
from users.described import CREATE_USER, GET_USER, UPDATE_USER
from users.fields import external_id_problems
from users.serializers import UserSerializer


def check_external_id(external_id: str) -> None:
    """Raises BadRequestError where the externalId of a path breaks the rules of one."""
    if problems := external_id_problems(external_id):
        raise invalid_fields(problems)


class UserCollection(PartnerAPIView):
    """/v1/users."""

    @describes(CREATE_USER)
    def post(self, request: ServiceRequest) -> JsonResponse:
        """Registers a user."""

        def create(partner_id: int) -> Answer:
            created = profile.create_user(partner_id=partner_id, body=self.received.body)
            location = f"/v1/users/{canonical_path(created['externalId'].encode())}"
            return Answer(201, render(created), location)

        return self.write(create)


class UserItem(PartnerAPIView):
    """/v1/users/{externalId}."""

    @describes(GET_USER)
    def get(self, request: ServiceRequest, external_id: str) -> JsonResponse:
        """Where the user stands."""
        check_external_id(external_id)
        user = profile.find_user(sender=self.sender, external_id=external_id)
        return self.read(UserSerializer(user).data)

    @describes(UPDATE_USER)
    def patch(self, request: ServiceRequest, external_id: str) -> JsonResponse:
        """Changes what the body holds."""

        def update(partner_id: int) -> Answer:
            check_external_id(external_id)
            user = profile.update_user(partner_id=partner_id, external_id=external_id, body=self.received.body)
            return Answer(200, render(UserSerializer(user).data))

        return self.write(update)
