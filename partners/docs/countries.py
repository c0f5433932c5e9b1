"""The page of countries: where a postal code or a subdivision is required, and in which form."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from django.template.loader import render_to_string

from partners.docs.reference.pages import contents


class Subdivision(NamedTuple):
    """A subdivision. code: what is stored. name: for people. also: another text that is accepted, or ""."""

    code: str
    name: str
    also: str


class Country(NamedTuple):
    """The rules of a country, by its ISO 3166-1 alpha-2 code.

    forms: of a postal code, with n for a digit, a for a letter and x for either; none where any text is accepted.
    example: a postal code that is accepted. subdivisions: none where any text is accepted.
    """

    code: str
    name: str
    postal_code_required: bool
    forms: Sequence[str]
    example: str
    province_required: bool
    subdivisions: Sequence[Subdivision]


# The app of users registers what returns the countries with any rule, by name (users/apps.py).
SOURCES: list[Callable[[], Sequence[Country]]] = []


@lru_cache(maxsize=1)
def page() -> str:
    """Render the page, once in each process."""
    countries = [country for source in SOURCES for country in source()]
    by_letter: dict[str, str] = {}
    for country in countries:
        by_letter.setdefault(country.name[0], country.code)
    letters = [{"id": code, "title": letter} for letter, code in by_letter.items()]
    context = {"here": "reference", "markdown": "countries", "contents": contents("Countries", letters)}
    return render_to_string("docs/countries.html", context | {"countries": countries})
