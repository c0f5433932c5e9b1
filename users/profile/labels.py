"""The labels of a user's fields, and their values formatted for people."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import pycountry
from django.utils.formats import date_format, get_format
from django.utils.text import capfirst
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

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
    """A date and time in the current time zone, with the zone's name."""
    style = get_format("DATETIME_FORMAT")
    return date_format(localtime(value), style.replace("H:i", "H:i:s") if seconds else style)


def display_province(country: str, stored: str) -> str:
    """A stored province: its name, where that is known, and its code."""
    name = subdivision_name(country, stored)
    return f"{name} ({stored})" if name else display_value("province", stored)


def display_birth_date(born: date) -> str:
    """A birth date with today's age."""
    age = _("age %(age)s") % {"age": age_in_years(born, on=today())}
    return f"{date_format(born, 'DATE_FORMAT')} · {age}"
