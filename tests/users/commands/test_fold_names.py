"""`manage.py fold_names`: users that an earlier version stored are compared and found by their names too."""

import pytest

from partners.models import Mode
from tests import factories
from tests.support.commands import outcome
from users.cases.search import matches
from users.decisions.risk_flags import FlagCode, risk_flag_codes
from users.management.commands import fold_names
from users.models import User

pytestmark = pytest.mark.django_db


def found(term: str) -> set[User]:
    return set(User.objects.filter(matches(term, Mode.LIVE, sees_identity=True)))


def test_names_stored_earlier_are_folded_and_nothing_else_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold_names, "BATCH_SIZE", 2)
    users = [factories.UserFactory.create(first_name="Zoë", last_name="Łódź") for _ in range(5)]
    User.objects.update(name_key=None, name_words=None)
    assert found("zoe lodz") == set()
    assert risk_flag_codes(users[:1]) == {users[0].pk: [FlagCode.SAME_EMAIL]}
    before = list(User.objects.order_by("pk").values("updated_at", "profile_changed_at", "identity_changed_at"))
    assert outcome("fold_names") == {"folded": 5}
    assert found("zoe lodz") == set(users)
    assert FlagCode.SAME_PERSON in risk_flag_codes(users[:1])[users[0].pk]
    assert list(User.objects.order_by("pk").values("updated_at", "profile_changed_at", "identity_changed_at")) == before
    assert {user.events.count() for user in users} == {1}
    assert outcome("fold_names") == {"folded": 0}
