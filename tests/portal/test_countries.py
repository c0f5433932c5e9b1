"""The table of countries is what the API accepts."""

from typing import Any

import pytest

from portal.reference.country_rules import countries
from tests import factories
from tests.portal.reading import Page, read
from tests.support.client import PartnerClient
from users.profile.addresses import rules_for
from users.profile.field_rules import COUNTRY_CODES

ROWS = {one.code: one for one in countries()}
# Codes of every kind: letters, digits, other scripts, accents, names, none.
SOME = ("CA", "US", "AD", "AR", "BR", "FR", "GB", "HK", "IE", "IN", "JP", "KY", "MX", "SG", "TW", "AE")


def row(code: str) -> Page:
    return Page("<table>" + read("/docs/countries").source.split(f'<tr id="{code}">')[1].split("</tr>")[0])


def test_every_country_with_a_rule_is_in_the_table_and_no_other() -> None:
    assert set(ROWS) & COUNTRY_CODES == set(ROWS)
    for code in COUNTRY_CODES - ROWS.keys():
        rules = rules_for(code)
        assert (rules.postal_code_form, rules.postal_code_required) == (None, False)
        assert (rules.provinces, rules.province_required) == ({}, False)
    shown = [value for value in read("/docs/countries").values("id") if value in COUNTRY_CODES]
    assert set(shown) == set(ROWS)
    assert len(shown) == len(ROWS) > 150


def test_a_row_says_what_is_required_and_which_codes_there_are() -> None:
    canada = row("CA")
    assert canada.text.count("required") == 2
    assert {"CA", "ana nan", "ON", "QC"} <= set(canada.code)
    assert "Ontario" in canada.text
    assert "required" not in row("AD").text


@pytest.mark.parametrize("code", sorted(ROWS))
def test_what_a_row_shows_is_accepted(code: str) -> None:
    one, rules = ROWS[code], rules_for(code)
    assert not one.example or rules.postal_code(one.example)
    assert bool(one.forms) is (rules.postal_code_form is not None)
    for subdivision in one.subdivisions:
        for text in filter(None, (subdivision.code, subdivision.also)):
            assert rules.province(text) == subdivision.code
    assert {subdivision.code for subdivision in one.subdivisions} == {
        province.code for province in rules.provinces.values()
    }


@pytest.mark.parametrize(
    ("code", "forms"),
    [
        ("CA", ["ana nan"]),
        ("US", ["nnnnn", "nnnnn-nnnn"]),
        ("AD", ["ADn0n"]),
        ("LV", ["LV-nnnn"]),
        ("GB", ["GIR 0AA", "axx naa", "anx naa", "aanx naa"]),
        ("HK", []),
    ],
)
def test_a_form_has_signs_for_what_varies(code: str, forms: list[str]) -> None:
    assert ROWS[code].forms == forms


@pytest.mark.django_db
@pytest.mark.parametrize("code", SOME)
def test_a_user_with_what_a_row_shows_is_registered(api: PartnerClient, code: str) -> None:
    one = ROWS[code]
    address: dict[str, Any] = {"country": code, "postalCode": one.example, "province": ""}
    if one.subdivisions:
        address["province"] = one.subdivisions[-1].code
    assert api.post("/v1/users", factories.user_body(**address)).status == 201


@pytest.mark.django_db
@pytest.mark.parametrize("code", SOME)
def test_what_a_row_says_is_required_is(api: PartnerClient, code: str) -> None:
    one = ROWS[code]
    response = api.post("/v1/users", factories.user_body(country=code, postalCode="", province=""))
    named = {error["field"] for error in response.json().get("fieldErrors", [])}
    assert ("postalCode" in named, "province" in named) == (one.postal_code_required, one.province_required)
