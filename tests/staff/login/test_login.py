"""Login of staff: password, second factor, sessions that end."""

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.core.internal import ratelimit
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp_auth
from allauth.mfa.totp.internal.auth import TOTP
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db import connection
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import resolve
from django.views.defaults import page_not_found
from pytest_django import Settings

from core.models import AuditEntry
from staff.access import disable, invite_again
from staff.login import factors
from staff.login.adapters import AccountAdapter
from staff.models import Staff
from tests import factories
from tests.support import staff as staff_support
from tests.support.staff import TOTP_SECRET, client_of, totp_code

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery staple"
LOGIN = "/admin/account/login/"
CODE = "/admin/account/factors/code/"
FACTORS = "/admin/account/factors/"
CHOOSE_PASSWORD = "/admin/account/password/"
# A page of all staff; few are smaller.
INSIDE = "/admin/jsi18n/"


@pytest.fixture(autouse=True)
def required(settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = True
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1


def person(role: str = "partner-manager", **fields: Any) -> Staff:
    """Somebody with a password and no second factor yet."""
    staff = factories.StaffFactory.create(role=role)
    staff.set_password(PASSWORD)
    for name, value in fields.items():
        setattr(staff, name, value)
    staff.save()
    return staff


def enrolled(role: str = "partner-manager") -> Staff:
    staff = person(role)
    TOTP.activate(staff, TOTP_SECRET)
    RecoveryCodes.activate(staff)
    return staff


def log_in(staff: Staff, password: str = PASSWORD, client: Client | None = None) -> tuple[Client, Any]:
    client = client or Client()
    return client, client.post(LOGIN, {"login": staff.username, "password": password})


def inside(staff: Staff) -> Client:
    """The browser of somebody who has come all the way, as test_password_and_code_let_in does."""
    client, request = client_of(staff), HttpRequest()
    request.session, request.user = client.session, staff
    factors.record(request, staff, Authenticator.Type.TOTP)
    request.session.save()
    return client


def where_to(client: Client, path: str = INSIDE) -> str:
    """Where somebody who asks for a page is sent; nothing where they get it."""
    response = client.get(path)
    return str(response.headers.get("Location", "")).partition("?")[0]


def age(client: Client, seconds: float, *names: str) -> None:
    """Makes a session older by so much."""
    session = client.session
    for name in names:
        session[name] -= seconds
    session.save()


# Coming in


def test_password_and_code_let_in() -> None:
    client, response = log_in(enrolled())
    assert response.headers["Location"] == CODE
    assert where_to(client) == "/admin/login/"
    assert client.post(CODE, {"code": totp_code()}).status_code == 302
    assert where_to(client) == ""


def test_a_code_of_the_present_or_a_neighbouring_half_minute_and_a_recovery_code_let_in_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The half minute does not turn between the code and its check.
    clock = SimpleNamespace(time=Mock(return_value=time.time()))
    for module in (staff_support, totp_auth):
        monkeypatch.setattr(module, "time", clock)
    staff = enrolled()
    recovery = Authenticator.objects.get(user=staff, type="recovery_codes").wrap().get_unused_codes()[0]
    client, _ = log_in(staff)
    for code in (*(totp_code(periods=periods) for periods in (0, 1, -1)), recovery):
        assert client.post(CODE, {"code": code}).status_code == 302
        # allauth forgets it after half a minute; the code passes for longer.
        cache.delete(f"allauth.mfa.totp.used?user={staff.pk}&code={code}")
        client, _ = log_in(staff)
        assert client.post(CODE, {"code": code}).status_code == 200


def test_who_may_not_enter_is_told_no_more_than_who_has_a_wrong_password() -> None:
    for refused in (
        log_in(person(is_staff=False))[1],
        log_in(person(is_active=False))[1],
        log_in(person(), password="wrong")[1],
    ):
        assert "The username and/or password you specified are not correct." in refused.content.decode()


def test_who_is_no_longer_staff_is_out_at_the_next_page() -> None:
    staff = enrolled()
    client = inside(staff)
    Staff.objects.filter(pk=staff.pk).update(is_staff=False)
    assert where_to(client) == "/admin/login/"
    assert "_auth_user_id" not in client.session


def client_at(address: str, **headers: str) -> Client:
    """A browser behind the proxy, which adds the client's address to what the client sends."""
    return Client(headers={"x-forwarded-for": address, **headers})


@pytest.fixture
def limited(settings: Settings) -> Callable[[str, int], None]:
    """Allow so many of what a name of ACCOUNT_RATE_LIMITS counts, in the time that the settings say."""

    def limit(name: str, times: int) -> None:
        _, slash, rest = settings.ACCOUNT_RATE_LIMITS[name].partition("/")
        settings.ACCOUNT_RATE_LIMITS = settings.ACCOUNT_RATE_LIMITS | {name: f"{times}{slash}{rest}"}

    return limit


def test_the_limits_are_those_of_the_page_on_security(settings: Settings) -> None:
    limits = [settings.ACCOUNT_RATE_LIMITS[f"login_failed{of}"] for of in ("", "_at_address", "_of_account")]
    assert limits == ["5/5m/key", "50/5m/ip", "100/h/key"]


def is_refused(response: Any) -> bool:
    return "Too many failed login attempts" in response.content.decode()


def test_some_wrong_passwords_from_an_address_close_the_account_to_it(limited: Callable[[str, int], None]) -> None:
    limited("login_failed", 2)
    staff = enrolled()
    for number in range(2):
        # Neither another Host nor an address of the client's own choice gives it more attempts.
        client = client_at(f"192.0.2.{number}, 198.51.100.1", host=f"localhost:{number}")
        log_in(staff, password="wrong", client=client)
    assert is_refused(log_in(staff, client=client_at("198.51.100.1"))[1])


def attempt(username: str, password: str = PASSWORD, address: str = "198.51.100.1") -> str:
    """Whether the login's page would accept the password, call it wrong, or have the account or address locked."""
    request = RequestFactory().post(LOGIN, headers={"x-forwarded-for": address})
    try:
        staff = AccountAdapter(request).authenticate(request, username=username, password=password)
    except ValidationError:
        return "locked"
    return "accepted" if staff else "wrong"


def test_a_locked_account_does_not_use_up_the_limit_of_its_address(limited: Callable[[str, int], None]) -> None:
    limited("login_failed", 2)
    limited("login_failed_at_address", 4)
    staff = person()
    found = [attempt(staff.username, "wrong") for _number in range(5)]
    assert found == ["wrong", "wrong", "locked", "locked", "locked"]
    assert attempt(person().username) == "accepted"


def test_an_address_has_so_many_wrong_passwords_for_all_accounts(limited: Callable[[str, int], None]) -> None:
    limited("login_failed", 2)
    limited("login_failed_at_address", 3)
    assert [attempt(f"made-up-{number}", "wrong") for number in range(3)] == ["wrong"] * 3
    assert attempt(person().username) == "locked"
    assert attempt(person().username, address="198.51.100.2") == "accepted"


def test_an_account_has_so_many_wrong_passwords_an_hour_from_all_addresses(
    limited: Callable[[str, int], None],
) -> None:
    limited("login_failed", 2)
    limited("login_failed_of_account", 4)
    owner = person().username
    assert [attempt(owner, "wrong", f"198.51.100.{number}") for number in range(3)] == ["wrong"] * 3
    # More than an address has do not stop the owner.
    assert attempt(owner, address="203.0.113.1") == "accepted"
    assert attempt(owner, "wrong") == "wrong"
    assert attempt(owner, address="203.0.113.1") == "locked"
    assert attempt(person().username, address="203.0.113.1") == "accepted"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """The clock of allauth's limits."""
    now = Mock(return_value=time.time())
    monkeypatch.setattr(ratelimit, "time", SimpleNamespace(time=now, monotonic=time.monotonic, sleep=time.sleep))
    return now


def test_a_lock_out_ends_five_minutes_after_the_first_wrong_password(
    clock: Mock, limited: Callable[[str, int], None]
) -> None:
    limited("login_failed", 2)
    staff = person()
    for _number in range(2):
        assert attempt(staff.username, "wrong") == "wrong"
        clock.return_value += 20
    clock.return_value += 259
    assert attempt(staff.username) == "locked"
    clock.return_value += 1
    assert attempt(staff.username) == "accepted"


def test_more_posts_than_a_minute_allows_get_a_page_that_says_so(limited: Callable[[str, int], None]) -> None:
    limited("login", 1)
    client = client_at("198.51.100.1")
    assert client.post(LOGIN, {}).status_code == 200
    response = client.post(LOGIN, {})
    assert response.status_code == 429
    assert "Wait a minute" in response.content.decode()


# Well-formed, of nobody.
PASSKEY = {
    "id": "AA",
    "rawId": "AA",
    "type": "public-key",
    "clientExtensionResults": {},
    "response": {
        "clientDataJSON": urlsafe_b64encode(
            b'{"type":"webauthn.get","challenge":"AA","origin":"https://localhost"}'
        ).decode(),
        "authenticatorData": urlsafe_b64encode(bytes(37)).decode().rstrip("="),
        "signature": "AA",
    },
}


def test_a_wrong_passkey_as_second_factor_is_recorded() -> None:
    staff = enrolled()
    client, _ = log_in(staff)
    refused = client.post(CODE, {"credential": json.dumps(PASSKEY)})
    assert refused.status_code == 200
    entry = AuditEntry.objects.latest("id")
    assert (entry.action, entry.actor) == ("signIn.refusedPasskey", staff.username)


def test_some_wrong_codes_close_an_account_from_any_address(limited: Callable[[str, int], None]) -> None:
    limited("login_failed", 1)
    staff = enrolled()
    client, _ = log_in(staff, client=client_at("198.51.100.1"))
    client.post(CODE, {"code": "000000"})
    client, _ = log_in(staff)
    for factor in ({"code": totp_code()}, {"credential": json.dumps(PASSKEY)}):
        assert is_refused(client.post(CODE, factor))
    assert where_to(client) == "/admin/login/"


def test_failed_logins_are_lines_without_what_was_typed_a_lock_out_one_a_minute(
    caplog: pytest.LogCaptureFixture, limited: Callable[[str, int], None]
) -> None:
    limited("login_failed", 1)
    staff = enrolled()
    log_in(staff, password="wrong", client=client_at("198.51.100.1"))
    with connection.cursor() as cursor:
        # Where every process sees it: of account and address together, and of each of them alone.
        cursor.execute("SELECT count(*) FROM staff_cache WHERE cache_key LIKE '%%login_failed%%'")
        assert cursor.fetchone()[0] == 3
    for _attempt in range(2):
        log_in(staff, password="wrong", client=client_at("198.51.100.1"))
    log_in(Staff(username="a password typed for a name"), password="wrong")
    log_in(staff, client=client_at("203.0.113.1"))[0].post(CODE, {"code": "000000"})
    lines: list[Any] = [record.msg for record in caplog.records if record.name == "staff.login"]
    expected = [("password", staff.pk), *[("limit", staff.pk)] * 2, ("password", None), ("code", staff.pk)]
    assert [(line["cause"], line["staff"]) for line in lines] == expected
    assert not {"wrong", "000000", "a password typed for a name"} & set(map(str, lines[0].values()))
    assert "typed for a name" not in caplog.text
    audited = AuditEntry.objects.filter(object=staff.username, action__startswith="signIn.").order_by("id")
    assert [(line.action, line.actor, line.detail["address"]) for line in audited] == [
        ("signIn.refusedPassword", staff.username, "198.51.100.1"),
        ("signIn.lockedOut", staff.username, "198.51.100.1"),
        ("signIn.refusedCode", staff.username, "203.0.113.1"),
    ]


NOT_THERE = (
    *("signup/", "email/", "inactive/", "confirm-email/", "password/reset/", "password/set/", "reauthenticate/"),
    *("login/code/", "factors/recovery-codes/download/", "mfa/totp/activate/"),
)


def test_what_nobody_needs_is_not_there() -> None:
    for path in NOT_THERE:
        assert resolve(f"/admin/account/{path}").func is page_not_found, path


def test_the_admins_own_ways_in_and_out_lead_here() -> None:
    assert where_to(Client(), "/admin/login/") == LOGIN
    client = inside(enrolled())
    assert where_to(client, "/admin/password_change/") == CHOOSE_PASSWORD
    assert client.post("/admin/logout/").headers["Location"] == LOGIN
    assert where_to(client) == "/admin/login/"


# A password for one time


def test_a_password_for_one_time_lets_nobody_further_than_to_choose_another() -> None:
    staff = person(password_is_one_time=True)
    client, _ = log_in(staff)
    for path in (INSIDE, "/admin/", FACTORS, f"{FACTORS}app/"):
        assert where_to(client, path) == CHOOSE_PASSWORD
    # Another one, which keeps the rules.
    for new in (PASSWORD, "short", "123456789012345", "password1234"):
        with pytest.raises(ValidationError):
            AccountAdapter().clean_password(new, user=staff)
    for new, status in {PASSWORD: 200, "one of my own choice": 302}.items():
        assert where_to(client) == CHOOSE_PASSWORD
        response = client.post(CHOOSE_PASSWORD, {"oldpassword": PASSWORD, "password1": new, "password2": new})
        assert response.status_code == status
    assert where_to(client) == FACTORS


# A lost second factor


def test_the_page_of_the_code_says_who_can_help_by_name_after_the_password() -> None:
    person("administrator", first_name="Grace", last_name="Hopper")
    person("administrator", first_name="Left", last_name="Long-Ago", is_active=False)
    staff = enrolled()
    client = Client()
    assert "Grace Hopper" not in client.get(LOGIN).content.decode()
    log_in(staff, client=client)
    # The second has a session that no factor has verified.
    for browser, path in ((client, CODE), (client_of(staff), "/admin/account/factors/confirm/")):
        page = browser.get(path).content.decode()
        assert "Lost your second factor?" in page
        assert "Grace Hopper" in page
        assert "Long-Ago" not in page


def test_without_an_administrator_the_page_names_the_operators() -> None:
    client, _ = log_in(enrolled())
    assert "those who operate this service" in client.get(CODE).content.decode()


# What changes between the password and the code


@pytest.mark.parametrize(
    ("change", "action"), [(invite_again, "signIn.refusedPassword"), (disable, "signIn.refusedAccount")]
)
def test_a_login_does_not_outlive_its_password_or_the_account(change: Callable[..., Any], action: str) -> None:
    person("administrator")
    staff = enrolled()
    client, _ = log_in(staff)
    change(staff=staff, reason="The password was stolen.")
    assert client.post(CODE, {"code": totp_code()}).headers["Location"] == LOGIN
    assert where_to(client) == "/admin/login/"
    assert AuditEntry.objects.filter(action__startswith="signIn.").latest("id").action == action
    staff.refresh_from_db()
    assert staff.last_login is None


# Enrolling


def enrol(client: Client) -> Any:
    client.get(f"{FACTORS}app/")
    return client.post(f"{FACTORS}app/", {"code": totp_code(client.session["mfa.totp.secret"])})


def test_who_has_no_second_factor_gets_nowhere_but_to_one() -> None:
    client, _ = log_in(person())
    for path in (INSIDE, "/admin/", f"{FACTORS}recovery-codes/", f"{FACTORS}passkeys/"):
        assert where_to(client, path) == FACTORS
    for path in (FACTORS, f"{FACTORS}app/", f"{FACTORS}passkeys/add/"):
        assert where_to(client, path) == ""


def test_enrolling_lets_in_once_the_recovery_codes_were_shown() -> None:
    client, _ = log_in(person())
    assert enrol(client).headers["Location"] == f"{FACTORS}recovery-codes/"
    assert where_to(client) == f"{FACTORS}recovery-codes/"
    assert client.get(f"{FACTORS}recovery-codes/").content.count(b"<li>") == 10
    assert where_to(client) == ""
    assert b"<li>" not in client.get(f"{FACTORS}recovery-codes/").content, "shown once"


def test_one_session_is_not_let_in_by_what_another_enrolled() -> None:
    staff = person()
    waiting, _ = log_in(staff)
    enrol(log_in(staff)[0])
    assert where_to(waiting) == f"{FACTORS}confirm/"
    assert where_to(waiting, f"{FACTORS}app/") == f"{FACTORS}confirm/"


def test_while_it_is_not_required_nobody_is_asked(settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = False
    assert where_to(log_in(person())[0]) == ""


def test_secrets_are_encrypted_in_the_database() -> None:
    enrolled()
    with connection.cursor() as cursor:
        cursor.execute("SELECT data::text FROM mfa_authenticator ORDER BY type")
        codes, app = (row[0] for row in cursor)
    assert TOTP_SECRET not in app
    assert "gAAAA" in app  # as Fernet's tokens begin
    assert "gAAAA" in codes


def test_the_last_factor_stays() -> None:
    staff = enrolled()
    client = inside(staff)
    client.post(f"{FACTORS}app/remove/")
    assert Authenticator.objects.filter(user=staff, type="totp").exists()


def test_removing_a_factor_is_a_line_that_names_its_owner() -> None:
    staff = enrolled()
    client = inside(staff)
    for kind, path in {"webauthn": "passkeys/{}/remove/", "totp": "app/remove/"}.items():
        passkey = Authenticator.objects.create(user=staff, type="webauthn", data={"name": "key"})
        client.post(FACTORS + path.format(passkey.pk))
        entry = AuditEntry.objects.filter(action="secondFactor.removed").latest("id")
        assert (entry.actor, entry.object, entry.detail["type"]) == (staff.username, staff.username, kind)


def test_strangers_are_sent_to_log_in_and_leave_nothing() -> None:
    client = Client()
    for path in (f"{FACTORS}app/", f"{FACTORS}confirm/", FACTORS, CHOOSE_PASSWORD, f"{FACTORS}passkeys/1/remove/"):
        response = client.post(path, {"code": "1"})
        assert response.headers["Location"] == LOGIN
        assert not client.session.keys()


# Sessions that end


def test_a_session_ends_after_half_an_hour_without_a_request() -> None:
    client = inside(enrolled())
    age(client, 20 * 60, "staff_login.active")
    assert where_to(client) == ""
    age(client, 20 * 60, "staff_login.active")
    assert where_to(client) == "", "each request counts"
    age(client, 30 * 60 + 1, "staff_login.active")
    assert where_to(client) == "/admin/login/"
    assert "_auth_user_id" not in client.session


def test_a_session_ends_after_twelve_hours_however_busy() -> None:
    client = inside(enrolled())
    age(client, 12 * 3600 - 3600, "staff_login.started")
    assert where_to(client) == ""
    age(client, 3601, "staff_login.started")
    assert where_to(client) == "/admin/login/"


def test_the_database_forgets_a_session_no_later_than_that() -> None:
    client = inside(enrolled())
    assert client.session.get_expiry_age() == 30 * 60
    assert client.session.get_expire_at_browser_close()


def test_a_session_without_a_recorded_login_has_expired() -> None:
    client = client_of(enrolled())
    session = client.session
    del session["staff_login.started"]
    session.save()
    assert where_to(client) == "/admin/login/"


def test_a_new_password_ends_the_other_sessions() -> None:
    staff = enrolled()
    other = inside(staff)
    begun = time.time()
    client, _ = log_in(staff)
    client.post(CODE, {"code": totp_code(periods=1)})
    new = "quite another password"
    client.post(CHOOSE_PASSWORD, {"oldpassword": PASSWORD, "password1": new, "password2": new})
    assert where_to(client) == ""
    assert where_to(other) == "/admin/login/"
    assert client.session["staff_login.started"] >= begun


# Authenticator apps


def test_an_authenticator_entry_names_the_host(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["staging.example", "localhost", "testserver"]
    client, _ = log_in(person())
    for host, name in {"staging.example": "staging.example", "localhost:8001": "localhost 8001"}.items():
        # The page has it as a QR code.
        url = client.get(f"{FACTORS}app/", headers={"host": host}).context["totp_url"]
        assert parse_qs(urlsplit(url).query)["issuer"] == [f"Partner Service ({name})"]
