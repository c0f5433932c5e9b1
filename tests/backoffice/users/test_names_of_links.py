"""A row of a list always has a link with a text: names from before invisible ones were refused, too."""

import re
from html import unescape

from core.json_rules import has_visible_character
from staff.models import Staff
from tests import factories
from tests.support.staff import client_of
from users.decisions.compliance import Decision, decide
from users.models import Status

LISTS = ("user/queue", "user", "userevent", "statuschange")


def test_a_name_without_a_visible_character_is_shown_as_an_identifier(reviewer: Staff) -> None:
    shown = {}
    for external_id in ("cust-7", "\u2800"):
        user = factories.UserFactory.create(first_name="\u3164", last_name="\u200b", external_id=external_id)
        shown[user.pk] = external_id if external_id == "cust-7" else str(user.pk)
        for status in (Status.REJECTED, Status.PENDING_COMPLIANCE):
            decide(Decision(user=user, to_status=status, by=reviewer, reason="As asked", reason_code="other"))
    client = client_of(reviewer)
    for name in LISTS:
        page = unescape(client.get(f"/admin/users/{name}/").content.decode())
        for pk, text in shown.items():
            links = re.findall(rf'<a [^>]*href="[^"]*{pk}/[^"]*"[^>]*>([^<]*)</a>', page)
            assert text in links, name
            assert all(map(has_visible_character, links)), name
