"""Creating and updating users: what a partner does, in the transaction of its request (partners/api/idempotency.py)."""

import uuid
from collections.abc import Mapping
from typing import Any

from partners.api.errors import ConflictError, NotFoundError
from users import queries
from users.queries import StoredUser


def no_such_user() -> NotFoundError:
    """The answer for a user that this partner does not have, whoever else does."""
    return NotFoundError("There is no such user.")


def create_user(*, partner_id: int, values: Mapping[str, Any]) -> dict[str, str]:
    """Registers a user; what create answers. values: by column, as UserSerializer validated them.

    Raises ConflictError.
    """
    user_id = uuid.uuid4()
    status = queries.insert(user_id, partner_id, values)
    if status is None:
        raise ConflictError("A user with this externalId already exists.")
    return {"userId": str(user_id), "externalId": values["external_id"], "status": status}


def lock_user(*, partner_id: int, external_id: str) -> StoredUser:
    """The partner's user, locked against other writers until the transaction ends. Raises NotFoundError."""
    stored = queries.lock(partner_id, external_id)
    if stored is None:
        raise no_such_user()
    return stored


def update_user(stored: StoredUser, *, values: Mapping[str, Any]) -> StoredUser:
    """Stores what differs from a locked user, and nothing where nothing does; the user afterwards."""
    wanted = stored._replace(**values)
    if wanted == stored:
        return stored
    return wanted._replace(updated_at=queries.update(wanted))
