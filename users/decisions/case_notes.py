"""Notes on a case without a decision: who noted what, and when."""

from django.utils.translation import gettext as _

from partners.refusals import RefusedError
from users.decisions import compliance
from users.models import CaseNote, Staff, User

MAX_LENGTH = 2000


def add_note(*, user: User, text: str, by: Staff) -> CaseNote:
    """Add a note to a user's case; the status stays, and so does any claim.

    text: 1 to 2000 characters. Raises RefusedError; nothing is recorded then.
    """
    text = text.strip()
    compliance.require_permission(by)
    if not text:
        raise RefusedError(_("A note is required."))
    if len(text) > MAX_LENGTH:
        raise RefusedError(_("The note must be at most %(most)s characters.") % {"most": MAX_LENGTH})
    return CaseNote.objects.create(user=user, text=text, staff=by)
