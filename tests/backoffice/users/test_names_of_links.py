"""A row of a list always has a link with a text: names from before invisible ones were refused, too."""

import re
from html import unescape

import pytest

from core.json_rules import has_visible_character
from tests import factories
from tests.support.staff import client_as
from users.decisions.compliance import Decision, decide
from users.models import Status

LISTS = ("user/queue", "user", "userevent", "statuschange")


@pytest.mark.parametrize(
    ("external_id", "shown"), [("cust-7", "cust-7"), ("\u2800", "{id}")], ids=["external ID", "user ID"]
)
def test_a_name_without_a_visible_character_is_shown_as_an_identifier(db: None, external_id: str, shown: str) -> None:
    user = factories.UserFactory.create(first_name="\u3164", last_name="\u200b", external_id=external_id)
    reviewer = factories.StaffFactory.create(role="reviewer")
    for status in (Status.REJECTED, Status.PENDING_COMPLIANCE):
        decide(Decision(user=user, to_status=status, by=reviewer, reason="As asked", reason_code="other"))
    client = client_as("superuser")
    for name in LISTS:
        page = unescape(client.get(f"/admin/users/{name}/").content.decode())
        links = re.findall(rf'<a [^>]*href="[^"]*{user.pk}/[^"]*"[^>]*>([^<]*)</a>', page)
        assert shown.format(id=user.pk) in links, name
        assert all(map(has_visible_character, links)), name
