"""allauth's names that are not public, as staff/login/allauth_internals.py relies on them."""

from typing import Any

import pytest
from allauth.account.authentication import get_authentication_records
from allauth.account.internal.flows.reauthentication import resume_request
from allauth.core import context
from allauth.mfa.base.internal.flows import check_rate_limit
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from pytest_django import Settings

from staff.login.allauth_internals import (
    factors_key,
    is_allowed,
    keep_for_reauthentication,
    record_factor,
    seconds_until_allowed,
    take_kept,
)
from tests.factories import StaffFactory
from tests.support.staff import client_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def request_of_staff(rf: RequestFactory) -> HttpRequest:
    staff = StaffFactory.create(role="reviewer")
    request = rf.get("/admin/")
    request.user, request.session = staff, client_of(staff).session
    return request


def resume(_request: HttpRequest, state: dict[str, Any]) -> HttpResponse:
    return HttpResponse(state["kept"])


def test_a_factor_that_is_recorded_is_one_that_allauth_knows_of(request_of_staff: HttpRequest) -> None:
    record_factor(request_of_staff, request_of_staff.user, "mfa", type="totp")
    records = get_authentication_records(request_of_staff, request_of_staff.user)
    assert [(record["method"], record["type"]) for record in records] == [("mfa", "totp")]
    assert isinstance(records[0]["at"], float)


def test_what_is_kept_is_done_by_allauth_once_and_only_once(request_of_staff: HttpRequest) -> None:
    keep_for_reauthentication(request_of_staff, resume, {"kept": "what waited"})
    response = resume_request(request_of_staff)
    assert (response and response.content) == b"what waited"
    assert resume_request(request_of_staff) is None


def test_what_is_taken_is_not_done_by_allauth(request_of_staff: HttpRequest) -> None:
    keep_for_reauthentication(request_of_staff, resume, {"kept": "what waited"})
    assert take_kept(request_of_staff) == {"kept": "what waited"}
    assert take_kept(request_of_staff) is None
    assert resume_request(request_of_staff) is None


def test_the_end_of_a_limit_is_read_where_allauth_counts(request_of_staff: HttpRequest) -> None:
    request_of_staff.method = "POST"
    key = factors_key(request_of_staff.user)
    with context.request_context(request_of_staff):
        for _number in range(5):
            check_rate_limit(request_of_staff.user)
            assert 1 <= seconds_until_allowed(request_of_staff, "login_failed", key) <= 300
        with pytest.raises(ValidationError):
            check_rate_limit(request_of_staff.user)
    assert 290 <= seconds_until_allowed(request_of_staff, "login_failed", key) <= 300


def test_a_limit_counts_gets_too(rf: RequestFactory, settings: Settings) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"login": "2/m/ip"}
    assert [is_allowed(rf.get("/"), "login") for _number in range(3)] == [True, True, False]
