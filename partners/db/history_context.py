"""The context of history rows: who changed a row, and by which request.

pghistory's triggers read it from a setting of the transaction. Its own context manager would add a second command to
each statement, which server-side binding refuses.
"""

import json

from partners.db import statements

# To be part of another statement; its parameter is the result of `context`.
SET_CONTEXT = "set_config('pghistory.context_metadata', %s, true)"


def context(**values: str) -> str:
    """The parameter of SET_CONTEXT. values: partner, key, staff, command, requestId; no personal data of users."""
    return json.dumps(values)


def set_context(**values: str) -> None:
    """Set the context of the present transaction."""
    statements.fetch_one(f"SELECT {SET_CONTEXT}", (context(**values),))
