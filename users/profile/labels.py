"""The labels of a user's fields, and their values formatted for people."""

from collections.abc import Mapping
from datetime import date
from typing import Any

import pycountry
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from users.models import Status
from users.models.columns import PROFILE_COLUMNS
from users.profile.addresses import subdivision_name
from users.profile.field_rules import age_in_years, today

LABELS: Mapping[str, Any] = {
    "external_id": gettext_lazy("External ID"),
    "first_name": gettext_lazy("First name"),
    "last_name": gettext_lazy("Last name"),
    "date_of_birth": gettext_lazy("Date of birth"),
    "email": gettext_lazy("E-mail"),
    "address_line1": gettext_lazy("Address"),
    "address_line2": gettext_lazy("Address, line 2"),
    "city": gettext_lazy("City"),
    "postal_code": gettext_lazy("Postal code"),
    "province": gettext_lazy("Province"),
    "country": gettext_lazy("Country"),
    "occupation": gettext_lazy("Occupation"),
    "is_ciro_affiliate": gettext_lazy("CIRO affiliate"),
    "status": gettext_lazy("Status"),
}
# The order in which pages show a profile.
READING_ORDER = tuple(column for column in LABELS if column in PROFILE_COLUMNS)
NOTHING = "–"


def display_value(column: str, value: Any) -> str:
    """The value of a column, formatted for people."""
    if value is None or value == "":
        return NOTHING
    if column == "country":
        country = pycountry.countries.get(alpha_2=value)
        return f"{getattr(country, 'common_name', country.name)} ({value})" if country else str(value)
    if column == "status":
        return str(Status(value).label)
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, date):
        return date_format(value, "DATE_FORMAT")
    return str(value)


def display_province(country: str, stored: str) -> str:
    """A stored province: its name, where that is known, and its code."""
    name = subdivision_name(country, stored)
    return f"{name} ({stored})" if name else display_value("province", stored)


def display_birth_date(born: date) -> str:
    """A birth date with today's age."""
    age = _("age %(age)s") % {"age": age_in_years(born, on=today())}
    return f"{date_format(born, 'DATE_FORMAT')} · {age}"
