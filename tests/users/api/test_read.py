"""Where a user stands, and who the service takes a caller for: contract, section 9."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from core.formats import parse_timestamp
from partners.models import Partner
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.responses import assert_error
from users.models import User

DATE_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"


def test_a_user_is_read_without_personal_data(api: PartnerClient, create_user: Callable[..., Response]) -> None:
    created = create_user(externalId="ada").json()
    response = api.get("/v1/users/ada")
    read = response.json()
    assert (response.status, list(read)) == (
        200,
        [
            "userId",
            "externalId",
            "status",
            "statusReason",
            "statusChangedAt",
            "requirements",
            "verification",
            "updatedAt",
        ],
    )
    assert read.items() >= created.items()
    assert re.fullmatch(DATE_TIME, read["updatedAt"])
    assert parse_timestamp(read["updatedAt"]) == User.objects.get().updated_at
    # A read changes nothing.
    assert api.get("/v1/users/ada").body == response.body


def test_a_user_whom_the_partner_does_not_have_is_not_found(
    api: PartnerClient, create_user: Callable[..., Response]
) -> None:
    create_user(externalId="ada")
    for external_id in ("nobody", "ADA", "ad", "ada.", "%61dab"):
        for below in ("", "/transactions", "/documents"):
            assert_error(api.get(f"/v1/users/{external_id}{below}"), 404)


def test_another_partners_user_looks_like_nobody(
    api: PartnerClient, other_api: PartnerClient, create_user: Callable[..., Response]
) -> None:
    create_user(externalId="ada")
    for below in ("", "/transactions", "/documents"):
        foreign, absent = (other_api.get(f"/v1/users/{external_id}{below}") for external_id in ("ada", "bob"))
        assert assert_error(foreign, 404)["message"] == assert_error(absent, 404)["message"]
    assert other_api.post("/v1/users", factories.user_body(externalId="ada")).status == 201
    ours, theirs = api.get("/v1/users/ada").json(), other_api.get("/v1/users/ada").json()
    assert ours["userId"] != theirs["userId"]


def test_a_ping_tells_the_partner_and_the_servers_time(api: PartnerClient, partner: Partner) -> None:
    response = api.get("/v1/ping")
    assert (response.status, set(response.json())) == (200, {"partner", "mode", "serverTime"})
    assert response.json()["partner"] == partner.slug
    assert re.fullmatch(DATE_TIME, response.json()["serverTime"])
    # The clock may be set while it is asked.
    assert abs(parse_timestamp(response.json()["serverTime"]) - datetime.now(UTC)) < timedelta(minutes=10)
