"""The users of pasted identifiers, and their evidence packs."""

import re
import uuid
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from backoffice.users import user_admin as users_page
from partners.models import Mode
from tests import factories
from tests.backoffice.exports.test_evidence_packs import PACKS
from tests.support.staff import client_as, words
from users.models import User

pytestmark = pytest.mark.django_db
PAGE = "/admin/users/user/identified/"


def make(external_id: str, **fields: Any) -> User:
    user: User = factories.UserFactory.create(external_id=external_id, **fields)
    return user


def body(*identifiers: str, mode: str = "live") -> dict[str, str]:
    return {"identifiers": "\r\n".join(identifiers), "mode": mode}


def found(*identifiers: str, mode: str = "live") -> tuple[set[User], list[str]]:
    """The users that the form finds, and the identifiers of nobody."""
    form = users_page.IdentifiersForm(body(*identifiers, mode=mode))
    assert form.is_valid(), form.errors
    return set(form.users), [*form.missing]


def test_the_users_are_exactly_those_of_the_lines(user: User) -> None:
    others = [make("Ada@Example.org"), make("two words")]
    for near in ("ada@example.org", "Ada@Example.org.au", "two", "words"):
        make(near)
    lines = ("", f"  {user.external_id} ", "Ada@Example.org", "two words", user.external_id)
    assert found(*lines) == ({user, *others}, [])


def test_a_user_id_finds_and_so_does_an_external_id_that_looks_like_one(user: User) -> None:
    alike, by_hex = make(str(user.pk)), make("hex")
    assert found(str(user.pk).upper(), str(user.pk), by_hex.pk.hex) == ({user, alike, by_hex}, [])


def test_an_external_id_of_several_partners_finds_all_of_the_mode(user: User) -> None:
    other = make(user.external_id)
    sandbox = make(user.external_id, partner=factories.PartnerFactory.create(mode=Mode.SANDBOX))
    assert found(user.external_id) == ({user, other}, [])
    assert found(str(sandbox.pk)) == (set(), [str(sandbox.pk)])
    page = client_as("viewer").post(PAGE, body(user.external_id, mode="sandbox")).content.decode()
    assert re.findall("/admin/cases/([^/]*)/", page) == [str(sandbox.pk)]
    assert "these users are not real" in page


def test_what_was_not_found_is_named_in_the_order_of_the_lines(user: User) -> None:
    lines = ("zoe", user.external_id, "<b>", str(uuid.uuid4()), "adam")
    page = client_as("reviewer").post(PAGE, body(*lines)).content.decode()
    assert re.findall("/admin/cases/([^/]*)/", page) == [str(user.pk)]
    said = words(page)
    assert said.index("4 identifiers were not found zoe &lt;b&gt;") < said.index(lines[3]) < said.index("adam")
    # For those who may export.
    assert PACKS not in page


def test_one_pack_has_them_and_no_identifier_is_logged_or_stands_in_an_address(
    capsys: pytest.CaptureFixture[str],
) -> None:
    users, client = [make("ada@example.com"), make("other")], client_as("auditor")
    page = client.post(PAGE, body("ada@example.com", "other", "bob@example.com")).content.decode()
    assert not re.search(r'(?:href|action|value)="[^"]*(?:ada|bob)@', page)
    sent = re.findall(r'name="user" value="([^"]*)"', page)
    assert set(sent) == {str(user.pk) for user in users}
    shown = client.post(PACKS, {"user": sent, "back": PAGE}).content.decode()
    assert "Evidence packs of 2 users" in shown
    assert f'href="{PAGE}"' in shown
    captured = capsys.readouterr()
    assert "@example.com" not in captured.out + captured.err


@pytest.mark.parametrize("identifiers", [(), (" ", ""), ("a\0b",)])
def test_nothing_to_find_is_said(identifiers: tuple[str, ...]) -> None:
    assert users_page.IdentifiersForm(body(*identifiers)).errors.keys() == {"identifiers"}


def test_more_than_one_export_takes_are_refused(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users_page, "MAX_USERS", 2)
    assert found(user.external_id, "a", user.external_id) == ({user}, ["a"])
    refused = ["At most 2 at a time: paste fewer."]
    assert users_page.IdentifiersForm(body("a", "b", "c")).errors == {"identifiers": refused}
    for _ in range(2):
        make(user.external_id)
    page = client_as("viewer").post(PAGE, body(user.external_id)).content.decode()
    assert refused[0] in words(page)
    assert user.full_name not in page


def test_many_cost_as_many_statements_as_one(user: User) -> None:
    texts, numbers = [make(f"many-{number}").external_id for number in range(3)], []
    for lines in ([texts[0], str(user.pk)], [*texts, str(user.pk), "nobody", str(uuid.uuid4())]):
        with CaptureQueriesContext(connection) as queries:
            found(*lines)
        numbers.append(sum("users_user" in one["sql"] for one in queries))
    assert numbers[0] == numbers[1]
