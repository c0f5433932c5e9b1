"""The columns of a user's profile: models, statements, triggers and the API are made from them."""

from datetime import date
from typing import NamedTuple

from django.db.models import CheckConstraint
from django.utils.translation import gettext_lazy as _

from core.database.schema import shape


class Profile(NamedTuple):
    """The columns that a partner may change, as they are stored."""

    email: str
    first_name: str
    last_name: str
    date_of_birth: date
    address_line1: str
    address_line2: str
    city: str
    postal_code: str
    province: str
    country: str
    occupation: str
    is_ciro_affiliate: bool


PROFILE_COLUMNS = Profile._fields

# The groups in which pages show a profile, and the order in each.
GROUPS = (
    (_("Person"), ("first_name", "last_name", "date_of_birth", "email")),
    (_("Address"), ("address_line1", "address_line2", "city", "postal_code", "province", "country")),
    (_("Occupation"), ("occupation", "is_ciro_affiliate")),
)


def camel_case(column: str) -> str:
    """Return the API's name of a column."""
    first, *others = column.split("_")
    return first + "".join(map(str.capitalize, others))


# The API's names of a profile's columns.
FIELD_NAMES = {column: camel_case(column) for column in PROFILE_COLUMNS}


class FoldedName(NamedTuple):
    """The columns that are made of the name (users/profile/names.py).

    name_key: the same for names that fold alike. name_words: by which it is found, with blanks between; a tsvector.
    """

    name_key: str
    name_words: str


FOLDED_COLUMNS = FoldedName._fields

# A change of one of these in an active user puts it on the list of those who changed since the decision.
REVIEWED_COLUMNS = ("first_name", "last_name", "date_of_birth")

# Who holds the permission sees birth date and address. Province and country alone identify nobody.
IDENTITY_PERMISSION = "users.view_identity"
IDENTITY_COLUMNS = frozenset({"date_of_birth", "address_line1", "address_line2", "city", "postal_code"})


# What users/decisions/decision_basis.py writes and its readers rely on.
_BASIS = """
    $.version.type() == "string" && $.source.type() == "string"
    && ($.openSeconds.type() == "number" || $.openSeconds.type() == "null")
    && $.riskFlags.type() == "array" && !exists($.riskFlags[*].type() ? (@ != "object"))
    && !exists($.riskFlags[*] ? (!(@.code.type() == "string" && @.data.type() == "object")))
    && $.changes.type() == "array" && !exists($.changes[*].type() ? (@ != "object"))
    && !exists($.changes[*] ? (!(@.since.type() == "string" && @.fields.type() == "object")))
    && !exists($.changes[*].fields.keyvalue() ? (!(@.value.type() == "array" && @.value.size() == 2)))
"""


def basis_is_readable(name: str) -> CheckConstraint:
    """The constraint that holds the shape of a column `basis`."""
    return shape("basis", _BASIS, name=name)


def names_of_user(user: str) -> str:
    """The SQL of a JSON object of the partner and the externalId of a user, by which people know it. user: its id."""
    return f"""coalesce((
        SELECT jsonb_build_object('partner', p.slug, 'externalId', u.external_id)
          FROM users_user u JOIN partners_partner p ON p.id = u.partner_id WHERE u.id = {user}), '{{}}')"""
