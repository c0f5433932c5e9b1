"""A sandbox partner's latest requests on its page of the back office."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from backoffice.partners import partner_admin
from partners.models import Mode, Partner, SandboxRequest
from tests import factories
from tests.support.client import PartnerClient
from tests.support.staff import client_as, words

TITLE = "Latest requests"


def page_of(partner: Partner) -> str:
    return f"/admin/partners/partner/{partner.pk}/change/"


def shown(partner: Partner, role: str = "partner-manager") -> str:
    response = client_as(role).get(page_of(partner))
    assert response.status_code == 200
    return words(response.content.decode())


@pytest.fixture
def partner(sandbox: PartnerClient) -> Partner:
    return Partner.objects.get(mode=Mode.SANDBOX)


def test_a_sandbox_partners_requests_are_on_its_page(sandbox: PartnerClient, partner: Partner) -> None:
    refused = sandbox.get("/v1/ping?a=1", secret="another")
    invalid = sandbox.post("/v1/users", factories.user_body(email="no"))
    key = str(uuid.uuid4())
    for _ in range(2):
        sandbox.post("/v1/users", factories.user_body(externalId="ada"), key=key)
    text = shown(partner)
    assert TITLE in text
    for part in (
        "GET /v1/ping?a=1",
        "401 unknown",
        "email (format)",
        "bad_request",
        str(refused.header("X-Request-Id")),
        str(invalid.header("X-Request-Id")),
    ):
        assert part in text


def test_a_page_without_requests_says_so(partner: Partner) -> None:
    assert f"{TITLE} None in the last 24 hours." in shown(partner)


def test_a_live_partners_page_has_no_such_table(api: PartnerClient, transport: Any) -> None:
    live = factories.PartnerFactory.create()
    factories.client_of(live, transport).get("/v1/ping")
    assert TITLE not in shown(live)


def test_the_table_has_the_latest_ones_by_few_queries(
    partner: Partner, django_assert_max_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partner_admin, "TABLE_ROWS", 2)
    values: dict[str, Any] = {"method": "GET", "path": "/v1/ping", "query": "", "status": 200, "field_errors": []}
    values |= {"replayed": False, "milliseconds": 1, "partner": partner}
    for number in range(4):
        created_at = timezone.now() - timedelta(minutes=number)
        SandboxRequest.objects.create(request_id=uuid.UUID(int=number), created_at=created_at, **values)
    client = client_as("partner-manager")
    with django_assert_max_num_queries(20):
        page = client.get(page_of(partner)).content.decode()
    assert [str(uuid.UUID(int=number)) in page for number in range(4)] == [True, True, False, False]


def test_what_a_partner_sent_is_escaped(sandbox: PartnerClient, partner: Partner) -> None:
    sandbox.get("/v1/ping?<script>alert(1)</script>")
    page = client_as("partner-manager").get(page_of(partner)).content.decode()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
