"""Creating and updating users: what a partner does. Run inside the gate's transaction."""

from functools import partial

from partners.api.errors import ConflictError, NotFoundError
from partners.api.json import parse_object
from partners.api.sender import Sender
from users import queries
from users.queries import StoredUser, UserSummary
from users.serializers import UserSerializer


def no_such_user() -> NotFoundError:
    """The answer for a user that this partner does not have, whoever else does."""
    return NotFoundError("There is no such user.")


def create_user(*, partner_id: int, body: bytes) -> dict[str, str]:
    """Registers the user that a body describes; what create answers.

    Raises BadRequestError, UnprocessableEntityError, ConflictError.
    """
    serializer = UserSerializer(data=parse_object(body))
    serializer.is_valid(raise_exception=True)
    values = serializer.validated_data
    created = queries.insert(partner_id, values)
    if created is None:
        raise ConflictError("A user with this externalId already exists.")
    user_id, status = created
    return {"userId": str(user_id), "externalId": values["external_id"], "status": status}


def update_user(*, partner_id: int, external_id: str, body: bytes) -> StoredUser:
    """Changes what a body holds, and nothing where it holds what is stored; the user afterwards.

    Raises NotFoundError, BadRequestError, UnprocessableEntityError.
    """
    stored = queries.lock(partner_id, external_id)
    if stored is None:
        raise no_such_user()
    serializer = UserSerializer(stored, data=parse_object(body), partial=True)
    serializer.is_valid(raise_exception=True)
    wanted = stored._replace(**serializer.validated_data)
    if wanted == stored:
        return stored
    return wanted._replace(updated_at=queries.update(wanted))


def find_user(*, sender: Sender, external_id: str) -> UserSummary:
    """The partner's user. Raises NotFoundError, and what Sender.ask does."""
    user = sender.ask(partial(queries.find, external_id))
    if user is None:
        raise no_such_user()
    return user
