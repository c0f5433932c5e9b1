"""Dates users back, which no role may do: as the superuser, without triggers."""

from datetime import datetime
from uuid import UUID

import psycopg

from config.embedded.server import SUPERUSER
from core.database import serving_role
from tests.conftest import database_url


def date_back(user_id: UUID, since: datetime) -> None:
    """Have the user of a committed transaction been in its status since then."""
    with psycopg.connect(database_url(serving_role.SERVING, SUPERUSER), autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE users_user SET status_since = %s WHERE id = %s", (since, user_id))
