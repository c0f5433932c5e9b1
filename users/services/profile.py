"""Creating and updating users, in the transaction of the caller."""

from users import queries
from users.models.columns import Profile
from users.queries import StoredUser, UserSummary


class ExternalIdTakenError(Exception):
    """This partner already has a user with this externalId."""


def create_user(*, partner_id: int, external_id: str, profile: Profile) -> UserSummary:
    """Register a user. Raises ExternalIdTakenError."""
    user = queries.insert(partner_id, external_id, profile)
    if user is None:
        raise ExternalIdTakenError
    return user


def update_user(*, user: StoredUser, profile: Profile) -> UserSummary:
    """Store the profile of a locked user, unless it is the same: then nothing changes, updated_at included."""
    return user.summary if profile == user.profile else queries.update(user.summary.id, profile)
