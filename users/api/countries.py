"""The rows of the docs' table of countries, made from the rules that addresses are checked by."""

import string
from collections.abc import Iterator

import pycountry

from partners.docs.countries import Country, Subdivision
from users.services.addresses import AddressRules, postal_code_examples, rules_for, subdivision_names

_SIGNS = {"n": string.digits, "a": string.ascii_uppercase, "x": string.digits + string.ascii_uppercase}
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
    forms = dict.fromkeys(_form(rules, example) for example in postal_code_examples(rules))
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
    """Return the form of a postal code: at each place what else is accepted there, or the character itself."""
    assert rules.postal_code_form is not None  # noqa: S101 - an example is of a form
    accepts = rules.postal_code_form.fullmatch
    form = ""
    for place, character in enumerate(example):
        others = [
            one for one in _SIGNS["x"] if one != character and accepts(example[:place] + one + example[place + 1 :])
        ]
        kinds = {"n" if one.isdigit() else "a" for one in (*others, character)} if others else set()
        form += character if not kinds or not character.isalnum() else "x" if len(kinds) > 1 else kinds.pop()
    return form


def _subdivisions(rules: AddressRules) -> Iterator[Subdivision]:
    names = subdivision_names(rules.country)
    for code, key in dict.fromkeys((one.code, one.key) for one in rules.provinces.values()):
        yield Subdivision(code, names.get(key, key), "" if key == code else key)
