"""Who changed a row, and by which request: what a history row keeps as its context.

pghistory's own context manager puts a second command into each statement, which server-side binding
refuses. Its triggers read a setting of the transaction; this module sets it, for the API, the back
office and the commands alike.
"""

import json

from partners.db import statements

# For folding into a statement that a transaction makes anyway; takes the value of `context`.
SET_CONTEXT = "set_config('pghistory.context_metadata', %s, true)"


def context(**facts: str) -> str:
    """What SET_CONTEXT takes. facts: such as partner, key, staff, command, requestId; nothing personal of a user."""
    return json.dumps(facts)


def set_context(**facts: str) -> None:
    """Says who makes the changes of the present transaction."""
    statements.fetch_one(f"SELECT {SET_CONTEXT}", (context(**facts),))
