"""The rows of the docs' table of countries, made from the rules that addresses are checked by."""

import string
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pycountry

from users.profile.addresses import AddressRules, postal_code_examples, rules_for, subdivision_names


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


_CHARACTERS = string.digits + string.ascii_uppercase
# A postal code without its digits and letters.
_OUTLINE = str.maketrans(dict.fromkeys(string.digits, "n") | dict.fromkeys(string.ascii_uppercase, "a"))
MAX_FORMS = 4


def countries() -> list[Country]:
    """Return the countries with a rule for postal codes or subdivisions, by name."""
    named = sorted((getattr(one, "common_name", one.name), one.alpha_2) for one in pycountry.countries)
    return [
        _country(name, rules) for name, rules in ((name, rules_for(code)) for name, code in named) if _has_any(rules)
    ]


def _has_any(rules: AddressRules) -> bool:
    return bool(rules.postal_code_form or rules.postal_code_required or rules.provinces or rules.province_required)


def _country(name: str, rules: AddressRules) -> Country:
    # One of each outline: finding out what else is accepted at every place takes a hundred look-ups.
    outlines = {example.translate(_OUTLINE): example for example in reversed(postal_code_examples(rules))}
    forms = dict.fromkeys(_form(rules, example) for example in reversed(outlines.values()))
    return Country(
        code=rules.country,
        name=name,
        postal_code_required=rules.postal_code_required,
        forms=list(forms)[:MAX_FORMS],
        example=rules.postal_code_example,
        province_required=rules.province_required,
        subdivisions=list(_subdivisions(rules)),
    )


def _form(rules: AddressRules, example: str) -> str:
    """Return the form of a postal code: at each place a sign of what is accepted there too, or the character itself."""
    assert rules.postal_code_form is not None  # noqa: S101 - an example is of a form
    accepts = rules.postal_code_form.fullmatch
    form = ""
    for place, character in enumerate(example):
        others = (
            one for one in _CHARACTERS.replace(character, "") if accepts(example[:place] + one + example[place + 1 :])
        )
        kinds = {_kind(one) for one in others}
        form += character if _kind(character) not in kinds else "x" if len(kinds) > 1 else _kind(character)
    return form


def _kind(character: str) -> str:
    return "n" if character.isdigit() else "a" if character.isalpha() else ""


def _subdivisions(rules: AddressRules) -> Iterator[Subdivision]:
    names = subdivision_names(rules.country)
    for code, key in dict.fromkeys((one.code, one.key) for one in rules.provinces.values()):
        yield Subdivision(code, names.get(key or code, key), "" if key == code else key)
