"""The demo's data: users in every status, conversions, documents."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.core.files.storage import storages
from django.test import override_settings
from django.utils import timezone

from partners.models import KEY_PREFIXES, ApiKey, Mode, Partner
from tests.support.documents import stored_at
from transactions.demo.conversions import CURRENCIES
from transactions.demo.people import external_id
from transactions.demo.seeding import PARTNER, SANDBOX_PARTNER, seed
from transactions.documents.downloads import STORAGE
from transactions.models import Conversion, Document, DocumentType
from users.decisions.reasons import reasons_for
from users.decisions.risk_flags import FlagCode, risk_flags_for
from users.models import Status, StatusChange, User, UserEvent

USERS, CONVERSIONS = 40, 300


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with override_settings(STORAGES=stored_at(tmp_path_factory.mktemp("documents").as_uri())):
        yield


@pytest.fixture
def seeded(documents: None, committed_partner: Partner) -> Partner:
    seed(users=USERS, conversions=CONVERSIONS)
    return Partner.objects.get(slug=PARTNER)


def counts(partner: Partner) -> list[int]:
    models: tuple[Any, ...] = (User, UserEvent, StatusChange, Conversion, Document)
    return [model.objects.filter(partner=partner).count() for model in models]


def test_seeding_again_adds_nothing(seeded: Partner) -> None:
    before = counts(seeded)
    seed(users=USERS, conversions=CONVERSIONS)
    assert counts(seeded) == before


def test_each_seeding_gives_a_new_key_of_the_sandbox_partner(documents: None, committed_partner: Partner) -> None:
    first, second = (seed(users=0, conversions=0)["sandbox"]["apiKey"] for _ in range(2))
    assert first.startswith(KEY_PREFIXES[Mode.SANDBOX])
    (in_force,) = ApiKey.objects.filter(partner__slug=SANDBOX_PARTNER, revoked_at=None)
    assert second.startswith(in_force.prefix)
    assert not first.startswith(in_force.prefix)


def test_there_are_users_in_every_status(seeded: Partner) -> None:
    users = User.objects.filter(partner=seeded)
    assert set(users.values_list("status", flat=True)) == set(Status.values)
    assert users.filter(status=Status.PENDING_COMPLIANCE).count() == 12


def test_several_reviewers_decided_for_reasons_that_the_case_page_offers(seeded: Partner) -> None:
    changes = StatusChange.objects.filter(partner=seeded)
    assert len({change.by_id for change in changes}) > 1
    for change in changes:
        offered = reasons_for(Status(change.from_status), Status(change.to_status))
        assert change.reason_code in {reason.code for reason in offered}


def test_pending_users_show_each_risk_flag(seeded: Partner) -> None:
    waiting = User.objects.filter(partner=seeded, status=Status.PENDING_COMPLIANCE)
    assert {flag.code for user in waiting for flag in risk_flags_for(user)} >= set(FlagCode) - {
        FlagCode.PREVIOUSLY_SUSPENDED,
        # The conversions of the demo are those of active users.
        FlagCode.INACTIVE_CONVERSION,
        FlagCode.EARLY_CONVERSION,
    }
    assert User.objects.filter(partner=seeded, identity_changed_at__isnull=False).exists()


def test_amounts_agree_with_their_rates(seeded: Partner) -> None:
    conversions = Conversion.objects.filter(partner=seeded)
    assert conversions.count() == CONVERSIONS
    for one in conversions:
        value, decimals = CURRENCIES[one.from_currency][0], CURRENCIES[one.to_currency][1]
        assert abs(one.to_amount - one.from_amount * one.rate) <= Decimal(1).scaleb(-decimals) / 2
        assert abs(one.rate / (value / CURRENCIES[one.to_currency][0]) - 1) < Decimal("0.06")


def test_documents_exist_and_none_is_dated_in_the_future(seeded: Partner) -> None:
    """The demo's walk downloads the first user's."""
    documents = Document.objects.filter(partner=seeded)
    assert not documents.filter(created_at__gt=timezone.now()).exists()
    assert all(storages[STORAGE].exists(one.storage_name) for one in documents)
    types = documents.filter(user__external_id=external_id(1)).values_list("type", flat=True)
    assert sorted(types) == sorted(
        [DocumentType.AGREEMENT, DocumentType.TAX_SLIP, *3 * [DocumentType.ACCOUNT_STATEMENT]]
        + 2 * [DocumentType.TRADE_CONFIRMATION]
    )
