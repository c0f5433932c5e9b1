"""The addresses of lists of users, which show real users unless they are asked for those of sandbox partners."""

from django.urls import reverse

from partners.models import Mode
from users.models import User

# The parameter of a list's query string.
MODE = "mode"
QUEUE = "admin:users_queueduser_changelist"
ASKED = "admin:users_askeduser_changelist"
DECISIONS = "admin:users_statuschange_changelist"


def query_of(user: User) -> dict[str, str]:
    """What a list's query string needs to show the rows of this user."""
    return {MODE: Mode.SANDBOX.value} if user.is_sandbox else {}


def url_for(name: str, user: User) -> str:
    """The address of a list in the mode of this user. name: QUEUE."""
    return reverse(name, query=query_of(user))
