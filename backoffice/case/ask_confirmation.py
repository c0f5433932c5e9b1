"""The second step of asking a partner: what is sent is what the person saw, signed by the page that showed it."""

from django.core import signing
from django.utils.translation import gettext as _

from backoffice.case.requirement_forms import AskForm
from partners.refusals import RefusedError
from users.models import Staff, User

MAX_SECONDS = 15 * 60
_SALT = "backoffice.case.ask_confirmation"


def confirmation(form: AskForm, *, user: User, staff: Staff) -> str:
    """The signature of a valid form's second step, for one person and one user."""
    return signing.dumps(_content(form, user, staff), salt=_SALT, compress=True)


def check_confirmed(form: AskForm, *, user: User, staff: Staff, signed: str) -> None:
    """Raises RefusedError unless the second step showed this person this requirement within MAX_SECONDS."""
    try:
        shown = signing.loads(signed, salt=_SALT, max_age=MAX_SECONDS)
    except signing.BadSignature:
        shown = None
    if shown != _content(form, user, staff):
        raise RefusedError(_("See what the partner will read before you send it; it may be sent for 15 minutes."))


def _content(form: AskForm, user: User, staff: Staff) -> list[object]:
    asked = form.requirement()
    return [str(user.pk), staff.pk, asked["code"], sorted(asked["fields"]), asked["message"], asked["due_in_days"]]
