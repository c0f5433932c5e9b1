"""What the back office says of a user that was erased."""

from django.utils.translation import gettext as _

from users.models import Erasure
from users.profile.labels import display_moment


def erased_text(erased: Erasure) -> str:
    """When it was erased, and why, in a sentence."""
    return _("Erased on %(when)s under the retention rules.") % {"when": display_moment(erased.erased_at)}
