"""What staff ask partners for most often: a message for each code, with the fields of an update that answers it.

The partner reads English; staff read what it means in their own language beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext, gettext_noop

from users.models import RequirementCode


@dataclass(frozen=True, slots=True)
class Template:
    """The beginning of a request. message: in English. fields: columns of the profile; none: a note answers it."""

    message: str
    fields: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """The message in the reader's language."""
        return gettext(self.message)


_ADDRESS = ("address_line1", "city", "postal_code", "province", "country")

TEMPLATES: Mapping[RequirementCode, Template] = {
    RequirementCode.NAME_UNCLEAR: Template(
        gettext_noop("Please confirm the first and last name as they are on the user's identity document."),
        ("first_name", "last_name"),
    ),
    RequirementCode.DATE_OF_BIRTH_UNCLEAR: Template(
        gettext_noop("Please confirm the date of birth as it is on the user's identity document."), ("date_of_birth",)
    ),
    RequirementCode.ADDRESS_UNCLEAR: Template(
        gettext_noop("Please confirm the home address of the user, with its postal code."), _ADDRESS
    ),
    RequirementCode.OCCUPATION_UNCLEAR: Template(
        gettext_noop("Please tell us the occupation of the user more precisely."), ("occupation",)
    ),
    RequirementCode.EMAIL_UNCLEAR: Template(
        gettext_noop("Please confirm an email address at which the user can be reached."), ("email",)
    ),
    RequirementCode.PURPOSE_OF_USE: Template(
        gettext_noop("Please tell us in a note what the user will use the account for.")
    ),
    RequirementCode.SOURCE_OF_FUNDS: Template(
        gettext_noop("Please tell us in a note where the money that the user converts comes from.")
    ),
    RequirementCode.OTHER: Template(""),
}
