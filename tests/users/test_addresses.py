"""What a country asks of a postal code and a province: contract, section 2."""

import pytest

from tests import factories
from tests.answers import failing_fields
from tests.client import PartnerClient
from tests.users.sending import Send, kept, refused


@pytest.mark.parametrize(
    ("country", "province", "sent", "stored"),
    [
        ("CA", "ON", "M5X 1A9", "M5X 1A9"),
        ("CA", "ON", "M5X1A9", "M5X 1A9"),
        ("CA", "ON", "m5x1a9", "M5X 1A9"),
        ("CA", "ON", " m5x 1a9 ", "M5X 1A9"),
        # A hint for compliance staff: it is Alberta's.
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
    ],
)
def test_a_postal_code_of_the_country_is_stored_in_its_form(
    send: Send, country: str, province: str, sent: str, stored: str
) -> None:
    assert send(country=country, province=province, postalCode=sent).status in {200, 201}
    assert kept("postalCode") == stored


@pytest.mark.parametrize(
    ("country", "province", "sent"),
    [
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
    ],
)
def test_a_postal_code_of_another_form_is_refused(send: Send, country: str, province: str, sent: str) -> None:
    assert refused(send(country=country, province=province, postalCode=sent)) == ["postalCode"]


@pytest.mark.parametrize(
    ("country", "sent", "stored"),
    [
        ("CA", "ON", "ON"),
        ("CA", "on", "ON"),
        ("CA", " qC ", "QC"),
        ("US", "ca", "CA"),
        ("US", "AA", "AA"),
        ("IE", "co. CORK", "Co. Cork"),
        ("JP", "東京都", "東京都"),
        ("TR", "ADIYAMAN", "Adıyaman"),
        ("MX", "b.c.s.", "B.C.S."),
        # Lists none.
        ("FR", "Île-de-France", "Île-de-France"),
        ("FR", "", ""),
    ],
)
def test_a_province_of_the_country_is_stored_as_listed(send: Send, country: str, sent: str, stored: str) -> None:
    postal_code = {"CA": "M5X 1A9", "US": "10118", "JP": "100-0001", "TR": "02000", "MX": "23000", "FR": "75001"}
    answer = send(country=country, province=sent, postalCode=postal_code.get(country, ""))
    assert answer.status in {200, 201}, answer.body
    assert kept("province") == stored


@pytest.mark.parametrize(
    ("country", "postal_code", "sent"),
    [
        ("CA", "M5X 1A9", ""),
        ("CA", "M5X 1A9", "Ontario"),
        ("CA", "M5X 1A9", "CA-ON"),
        ("CA", "M5X 1A9", "ONT"),
        ("CA", "M5X 1A9", "NY"),
        ("CA", "M5X 1A9", "ſK"),
        ("CA", "M5X 1A9", "S\u212a"),
        ("US", "10118", "New York"),
        ("US", "10118", "ON"),
        ("US", "10118", ""),
        ("JP", "100-0001", "Tokyo"),
        ("JP", "100-0001", ""),
    ],
    ids=ascii,
)
def test_another_province_is_refused(send: Send, country: str, postal_code: str, sent: str) -> None:
    assert refused(send(country=country, province=sent, postalCode=postal_code)) == ["province"]


@pytest.mark.parametrize(
    ("country", "missing"),
    [("CA", ["postalCode", "province"]), ("GB", ["postalCode"]), ("HK", ["province"]), ("AW", []), ("AL", [])],
)
def test_the_country_says_what_an_address_must_have(api: PartnerClient, country: str, missing: list[str]) -> None:
    body = factories.user_body(country=country)
    del body["postalCode"], body["province"]
    answer = api.post("/v1/users", body)
    assert (answer.status == 201) if not missing else (failing_fields(answer) == missing)


@pytest.mark.parametrize("sent", ["CA", "ca", "Ca", " ca "])
def test_a_country_is_stored_in_upper_case(send: Send, sent: str) -> None:
    assert send(country=sent).status in {200, 201}
    assert kept("country") == "CA"


@pytest.mark.parametrize(
    "sent",
    ["", "C", "CAN", "124", "Canada", "XK", "ZZ", "AC", "EU", "UK", "AN", "XX", "C A", "ß", "ﬁ", "ıt", "ſe", "ＣＡ"],
)
def test_what_is_no_iso_3166_code_is_refused(send: Send, sent: str) -> None:
    assert refused(send(country=sent)) == ["country"]


def test_where_the_country_fails_the_address_is_not_held_against_it(api: PartnerClient) -> None:
    body = factories.user_body(country="ZZ", postalCode="?", province="?")
    assert failing_fields(api.post("/v1/users", body)) == ["country"]
