"""The page of countries: where a postal code or a subdivision is required, and in which form."""

from functools import lru_cache

from django.template.loader import render_to_string

from portal.reference import country_rules
from portal.reference.pages import contents


@lru_cache(maxsize=1)
def page() -> str:
    """Render the page, once in each process."""
    countries = country_rules.countries()
    by_letter: dict[str, str] = {}
    for country in countries:
        by_letter.setdefault(country.name[0], country.code)
    letters = [{"id": code, "title": letter} for letter, code in by_letter.items()]
    context = {"here": "reference", "markdown": "countries", "contents": contents("Countries", letters)}
    return render_to_string("docs/countries.html", context | {"countries": countries})
