"""Creating and updating users, in the transaction of the caller."""

from collections.abc import Set as AbstractSet

from core.database.query import Query
from users import queries
from users.models.columns import Profile
from users.profile.names import fold_name
from users.queries import NewUser, StoredUser, UserSummary
from users.requirements import lifecycle


def creation(*, partner_id: int, external_id: str, profile: Profile) -> Query[NewUser]:
    """The statement that registers a user; no row where the partner has one with this externalId."""
    return queries.insert(partner_id, external_id, profile, fold_name(profile.first_name, profile.last_name))


def update_user(*, user: StoredUser, profile: Profile, columns: AbstractSet[str]) -> UserSummary:
    """Store the profile of a locked user, unless it is the same: then nothing changes, updated_at included.

    columns: that the partner sent. They answer requirements of these fields (contract, section 13).
    """
    updated, stored = user.summary, user.profile
    if profile != stored:
        is_renamed = (profile.first_name, profile.last_name) != (stored.first_name, stored.last_name)
        name = fold_name(profile.first_name, profile.last_name) if is_renamed else None
        updated = queries.update(user.summary.id, profile, name)
    if updated.has_requirements:
        lifecycle.submit_by_update(user_id=updated.id, columns=columns)
        updated = lifecycle.with_requirements(queries.reread(updated.id))
    return updated
