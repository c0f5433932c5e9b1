"""Notes on a case without a decision: who noted what, and when."""

from django.utils.translation import gettext as _

from users.decisions import compliance
from users.models import CaseNote, Staff, User

MAX_LENGTH = 2000


class NoteRefusedError(Exception):
    """A note that the rules do not allow. Its text says why, for people."""


def add_note(*, user: User, text: str, by: Staff) -> CaseNote:
    """Add a note to a user's case; the status stays, and so does any claim.

    text: 1 to 2000 characters. Raises NoteRefusedError; nothing is recorded then.
    """
    text = text.strip()
    if not (by.is_active and by.has_perm(compliance.PERMISSION)):
        raise NoteRefusedError(_("%(name)s may not decide about users.") % {"name": by.get_username()})
    if not text:
        raise NoteRefusedError(_("A note is required."))
    if len(text) > MAX_LENGTH:
        raise NoteRefusedError(_("The note must be at most %(most)s characters.") % {"most": MAX_LENGTH})
    return CaseNote.objects.create(user=user, text=text, staff=by)
