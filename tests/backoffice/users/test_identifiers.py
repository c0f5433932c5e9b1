"""The users of pasted identifiers, and their evidence packs."""

import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from backoffice.users import user_admin as users_page
from partners.models import Mode
from tests import factories
from tests.backoffice.exports.test_archives import unzipped
from tests.backoffice.exports.test_evidence_packs import PACKS
from tests.support.staff import client_as, words
from users.models import AccessRecord, User

pytestmark = pytest.mark.django_db
PAGE = "/admin/users/user/identified/"


def make(external_id: str, **fields: Any) -> User:
    user: User = factories.UserFactory.create(external_id=external_id, **fields)
    return user


def paste(client: Client, *identifiers: str, mode: str = "live") -> Any:
    return client.post(PAGE, {"identifiers": "\r\n".join(identifiers), "mode": mode})


def found(response: Any) -> set[User]:
    return set(response.context["form"].users)


def missing(response: Any) -> list[str]:
    return [*response.context["form"].missing]


def test_the_users_are_exactly_those_of_the_lines(user: User) -> None:
    others = [make("Ada@Example.org"), make("two words")]
    for near in ("ada@example.org", "Ada@Example.org.au", "two", "words"):
        make(near)
    lines = ("", f"  {user.external_id} ", "Ada@Example.org", "two words", user.external_id)
    response = paste(client_as("viewer"), *lines)
    assert (found(response), missing(response)) == ({user, *others}, [])
    text = response.content.decode()
    assert set(re.findall("/admin/cases/([^/]*)/", text)) == {str(one.pk) for one in (user, *others)}


def test_a_user_id_finds_and_so_does_an_external_id_that_looks_like_one(user: User) -> None:
    alike = make(str(user.pk))
    by_hex = make("hex")
    response = paste(client_as("viewer"), str(user.pk).upper(), str(user.pk), by_hex.pk.hex)
    assert (found(response), missing(response)) == ({user, alike, by_hex}, [])


def test_an_external_id_of_several_partners_finds_all_of_the_mode(user: User) -> None:
    other = make(user.external_id, partner=factories.PartnerFactory.create())
    sandbox = make(user.external_id, partner=factories.PartnerFactory.create(mode=Mode.SANDBOX))
    client = client_as("viewer")
    assert found(paste(client, user.external_id)) == {user, other}
    response = paste(client, user.external_id, mode="sandbox")
    assert found(response) == {sandbox}
    assert "these users are not real" in response.content.decode()
    assert missing(paste(client, str(sandbox.pk))) == [str(sandbox.pk)]


def test_what_was_not_found_is_named_in_the_order_of_the_lines(user: User) -> None:
    unknown = str(uuid.uuid4())
    response = paste(client_as("viewer"), "zoe", user.external_id, "<b>", unknown, "adam")
    assert (found(response), missing(response)) == ({user}, ["zoe", "<b>", unknown, "adam"])
    text = response.content.decode()
    assert "4 identifiers were not found" in text
    assert "&lt;b&gt;" in text


def test_one_pack_has_them_for_who_may_export(user: User) -> None:
    other = make("other")
    page = paste(client_as("auditor"), user.external_id, "other", "nobody").content.decode()
    sent = re.findall(r'name="user" value="([^"]*)"', page)
    assert set(sent) == {str(user.pk), str(other.pk)}
    shown = client_as("auditor").post(PACKS, {"user": sent, "back": PAGE}).content.decode()
    assert "Evidence packs of 2 users" in shown
    assert f'href="{PAGE}"' in shown
    pack = unzipped(client_as("auditor").post(PACKS, {"user": sent, "confirmed": "yes"}))
    assert {f"{one}/data.json" for one in sent} < pack.keys()
    assert set(AccessRecord.objects.values_list("user", flat=True)) == {user.pk, other.pk}
    assert PACKS not in paste(client_as("reviewer"), user.external_id).content.decode()


@pytest.mark.parametrize("identifiers", [(), (" ", ""), ("a\0b",)])
def test_nothing_to_find_is_said(identifiers: tuple[str, ...]) -> None:
    response = paste(client_as("viewer"), *identifiers)
    assert response.context["form"].errors.keys() == {"identifiers"}


def test_more_than_one_export_takes_are_refused(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_as("viewer")
    monkeypatch.setattr(users_page, "MAX_USERS", 2)
    assert found(paste(client, user.external_id, "a", user.external_id)) == {user}
    text = words(paste(client, "a", "b", "c").content.decode())
    assert "At most 2 at a time: paste fewer." in text
    for _ in range(2):
        make(user.external_id, partner=factories.PartnerFactory.create())
    response = paste(client, user.external_id)
    assert "At most 2 at a time: paste fewer." in words(response.content.decode())
    assert user.full_name not in response.content.decode()


def test_many_cost_as_many_statements_as_one(user: User, create_user: Callable[..., Any]) -> None:
    client, texts = client_as("viewer"), [make(f"many-{number}").external_id for number in range(20)]
    numbers = []
    for lines in ([texts[0], str(user.pk)], [*texts, str(user.pk), "nobody", str(uuid.uuid4())]):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            paste(client, *lines)
        numbers.append(sum("users_user" in one["sql"] for one in queries))
    assert numbers[0] == numbers[1]


def test_no_identifier_is_logged_or_stands_in_an_address(user: User, capsys: pytest.CaptureFixture[str]) -> None:
    make("ada@example.com")
    page = paste(client_as("auditor"), "ada@example.com", "bob@example.com").content.decode()
    assert not re.search(r'(?:href|action|value)="[^"]*(?:ada|bob)@', page)
    captured = capsys.readouterr()
    assert "@example.com" not in captured.out + captured.err


def test_the_list_of_users_leads_there(user: User) -> None:
    assert f'href="{PAGE}"' in client_as("viewer").get("/admin/users/user/").content.decode()
