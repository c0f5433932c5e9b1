"""The labels of a user's fields, and their values formatted for people."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import pycountry
from django.utils.formats import date_format, get_format
from django.utils.text import capfirst
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from users.models import Status, User
from users.models.columns import GROUPS
from users.profile.addresses import subdivision_name
from users.profile.field_rules import age_in_years, today

READING_ORDER = tuple(column for _title, columns in GROUPS for column in columns)
LABELS: Mapping[str, Any] = {
    column: capfirst(User._meta.get_field(column).verbose_name)  # type: ignore[union-attr]  # noqa: SLF001 - Django's public name for it
    for column in ("external_id", *READING_ORDER, "status")
}
NOTHING = "–"
# Those of Canada have French names, which the library does not know.
_PROVINCES = {
    "BC": gettext_lazy("British Columbia"),
    "NB": gettext_lazy("New Brunswick"),
    "NL": gettext_lazy("Newfoundland and Labrador"),
    "NS": gettext_lazy("Nova Scotia"),
    "NT": gettext_lazy("Northwest Territories"),
    "PE": gettext_lazy("Prince Edward Island"),
    "QC": gettext_lazy("Quebec"),
}
# The zones of Canada, which have names of their own in French; others keep theirs.
_ZONES = {
    "NST": pgettext_lazy("time zone", "NST"),
    "NDT": pgettext_lazy("time zone", "NDT"),
    "AST": pgettext_lazy("time zone", "AST"),
    "ADT": pgettext_lazy("time zone", "ADT"),
    "EST": pgettext_lazy("time zone", "EST"),
    "EDT": pgettext_lazy("time zone", "EDT"),
    "CST": pgettext_lazy("time zone", "CST"),
    "CDT": pgettext_lazy("time zone", "CDT"),
    "MST": pgettext_lazy("time zone", "MST"),
    "MDT": pgettext_lazy("time zone", "MDT"),
    "PST": pgettext_lazy("time zone", "PST"),
    "PDT": pgettext_lazy("time zone", "PDT"),
}


def display_value(column: str, value: Any) -> str:
    """The value of a column, formatted for people."""
    if value is None or value == "":
        return NOTHING
    if column == "country" and isinstance(value, str):
        country = pycountry.countries.get(alpha_2=value)
        return f"{getattr(country, 'common_name', country.name)} ({value})" if country else str(value)
    if column == "status" and value in Status.values:
        return str(Status(value).label)
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, date):
        return date_format(value, "DATE_FORMAT")
    return str(value)


def display_moment(value: datetime, *, seconds: bool = False) -> str:
    """A date and time in the current time zone, with the zone's name in the reader's language."""
    local, style = localtime(value), get_format("DATETIME_FORMAT").removesuffix(" T")
    zone = date_format(local, "T")
    shown = date_format(local, style.replace("H:i", "H:i:s") if seconds else style)
    return f"{shown} {_ZONES.get(zone, zone)}"


def display_province(country: str, stored: str) -> str:
    """A stored province: its name, where that is known, and its code."""
    name = str(_PROVINCES.get(stored, "")) if country == "CA" else ""
    name = name or subdivision_name(country, stored)
    return f"{name} ({stored})" if name else display_value("province", stored)


def display_birth_date(born: date) -> str:
    """A birth date with today's age."""
    age = _("age %(age)s") % {"age": age_in_years(born, on=today())}
    return f"{date_format(born, 'DATE_FORMAT')} · {age}"
