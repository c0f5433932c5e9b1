"""Staff sign in with the company's account, at a real provider."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from allauth.mfa.webauthn.forms import LoginWebAuthnForm
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse
from prometheus_client import REGISTRY
from pytest_django import Settings

from core.models import AuditEntry
from staff.access import disable, invite_again
from staff.accounts import create_staff, role_names
from staff.models import Staff
from staff.oidc import accounts
from tests import factories
from tests.staff.login.test_login import PASSKEY, PASSWORD, age, enrolled, inside, log_in
from tests.staff.login.test_reauthentication import grow_stale
from tests.support.approval_rules import no_rules_left, reviewer, set_rule
from tests.support.client import Response
from tests.support.commands import outcome
from tests.support.named_actors import lines_name_who_acts  # noqa: F401 - a fixture
from tests.support.oidc_provider import CLIENT_ID, CLIENT_SECRET, OidcProvider, started
from tests.support.staff import TOTP_SECRET, totp_code
from tests.users.deciding import version_of
from users.decisions import compliance, proposals
from users.models import User

pytestmark = pytest.mark.django_db

LOGIN, CALLBACK = "/admin/account/company/login/", "/admin/account/company/callback/"
CONFIRM = "/admin/account/company/confirm/"
QUEUE = "/admin/users/user/queue/"
ADA = {"sub": "ada-1", "email": "ada@example.com", "email_verified": True, "amr": ["pwd", "mfa"]}
COMPLIANCE = ADA | {"groups": ["everybody", "compliance"], "given_name": "Ada", "family_name": "Lovelace"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OidcProvider]:
    with started(tmp_path_factory.mktemp("provider"), f"http://testserver{CALLBACK}") as provider:
        yield provider


@pytest.fixture
def company(running: OidcProvider, settings: Settings) -> OidcProvider:
    """The company's provider, where Ada signs in with a second factor."""
    configure(settings, running)
    running.say(person=ADA)
    return running


def configure(settings: Settings, provider: OidcProvider) -> None:
    settings.STAFF_MFA_REQUIRED = True
    settings.STAFF_OIDC_ISSUER, settings.STAFF_OIDC_NAME = provider.issuer, "Company"
    settings.STAFF_OIDC_CLIENT_ID, settings.STAFF_OIDC_CLIENT_SECRET = CLIENT_ID, CLIENT_SECRET


@pytest.fixture
def roles(settings: Settings) -> None:
    """The directory's groups give roles."""
    settings.STAFF_OIDC_ROLES = {"compliance": "reviewer", "audit": "auditor"}


@pytest.fixture
def ada() -> Staff:
    """An invited account."""
    return create_staff(username="ada", email="Ada@example.com", role="reviewer")


def back(company: OidcProvider, client: Client, **query: str) -> str:
    """Where the provider sends a browser that began to sign in."""
    url = company.visit(client.get(LOGIN, query).headers["Location"])
    assert url.startswith(f"http://testserver{CALLBACK}")
    return url.removeprefix("http://testserver")


def sign_in(company: OidcProvider, client: Client | None = None, **query: str) -> tuple[Client, Any]:
    client = client or Client()
    return client, client.get(back(company, client, **query))


def is_in(client: Client) -> bool:
    """Whether a person has come all the way."""
    response = client.get("/admin/jsi18n/")
    return not response.headers.get("Location", "").startswith(("/admin/login/", "/admin/account/"))


def trail(*actions: str) -> list[tuple[str, str, str]]:
    """The lines of these actions, oldest first: actor, action, object."""
    lines = AuditEntry.objects.filter(action__in=actions).order_by("id")
    return list(lines.values_list("actor", "action", "object"))


def refusal(response: Any) -> str:
    """The cause in the trail of a refusal, whose page says so."""
    assert response.status_code == 403
    assert "was refused" in response.content.decode()
    return str(AuditEntry.objects.latest("id").detail["cause"])


# Who gets in


def test_an_invited_person_is_found_by_the_verified_address_and_then_by_sub(company: OidcProvider, ada: Staff) -> None:
    client, response = sign_in(company, next=QUEUE)
    assert response.headers["Location"] == QUEUE
    assert client.get(QUEUE).status_code == 200
    company.say(person=ADA | {"email": "ada@married.example", "email_verified": False})
    assert is_in(sign_in(company)[0])
    assert trail("directory.found") == [("oidc", "directory.found", "ada")]
    assert list(SocialAccount.objects.values_list("user__username", "provider", "uid")) == [
        ("ada", company.issuer, "ada-1")
    ]


def test_nothing_of_the_provider_is_stored_but_issuer_and_sub(company: OidcProvider, ada: Staff) -> None:
    client, _ = sign_in(company)
    assert SocialAccount.objects.get().extra_data == {}
    with connection.cursor() as cursor:
        cursor.execute("SELECT has_table_privilege(%s, 'SELECT')", [SocialToken._meta.db_table])
        assert cursor.fetchone() == (False,)
    kept = str(dict(client.session))
    assert "token" not in kept
    assert "ada@example.com" not in kept


@pytest.mark.parametrize("claims", [{"email_verified": False}, {"email": "bob@example.com"}])
def test_another_or_an_unverified_address_finds_nobody(
    company: OidcProvider, ada: Staff, claims: dict[str, Any]
) -> None:
    company.say(person=ADA | claims)
    client, response = sign_in(company)
    assert refusal(response) == ("unknown person" if "email" in claims else "address not verified")
    assert not is_in(client)
    assert not SocialAccount.objects.exists()
    assert trail("signIn.refusedDirectory") == [("oidc", "signIn.refusedDirectory", "")]


def test_an_address_is_of_the_first_document_that_has_one_and_says_that_it_is_verified() -> None:
    email, other = {"email": "ada@example.com"}, {"email": "mallory@example.com"}
    # The ID token, what userinfo says, and what is wrong.
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        (email | {"email_verified": True}, {}, ""),
        ({}, email | {"email_verified": True}, ""),
        (email | {"email_verified": False}, {}, "address not verified"),
        (email | {"email_verified": None}, {}, "address not verified"),
        # Entra's.
        (email | {"xms_edov": True}, {}, ""),
        (email | {"xms_edov": "1"}, {}, ""),
        (email, {}, "address not verified"),
        (email | {"xms_edov": True, "email_verified": False}, {}, "address not verified"),
        # Another document's: userinfo's verification is of userinfo's address.
        (email, other | {"email_verified": True}, "address not verified"),
        ({"xms_edov": True}, email, "address not verified"),
        ({"xms_edov": True}, email | {"email_verified": False}, "address not verified"),
        ({}, {}, "no address"),
    ]

    def wrong(*documents: dict[str, Any]) -> str:
        try:
            accounts._verified_address(*documents)
        except accounts.SignInRefusedError as refused:
            return refused.cause
        return ""

    assert [(token, person, wrong(token, person)) for token, person, _ in cases] == cases


def test_entra_says_in_the_id_token_that_an_address_is_verified(company: OidcProvider, ada: Staff) -> None:
    # Not where userinfo says it, of another address: the ID token comes first, and each speaks for its own.
    company.say(person=ADA | {"email": "mallory@example.com"}, idToken={"email": ADA["email"]})
    assert refusal(sign_in(company)[1]) == "address not verified"
    company.say(person={"sub": "1", "amr": ["mfa"]}, idToken={"email": ADA["email"], "xms_edov": True})
    assert is_in(sign_in(company)[0])


def test_an_address_that_looks_alike_is_another(company: OidcProvider) -> None:
    mike = create_staff(username="mike", email="Mike@corp.example", role="administrator")
    alike = ["m\u0131ke@corp.example", "mike@co\u0280p.example", "\uff4dike@corp.example"]
    alike += ["mike@corp.e\u017fample", "mike@corp.examp\u017fe"]
    with transaction.atomic():
        assert {address: accounts._with_address(address) for address in alike} == dict.fromkeys(alike)
    company.say(person=ADA | {"email": alike[0]})
    assert refusal(sign_in(company)[1]) == "unknown person"
    company.say(person=ADA | {"email": "MIKE@CORP.example"})
    assert is_in(sign_in(company)[0])
    assert SocialAccount.objects.get().user == mike


def test_an_address_with_characters_that_no_username_has_gets_an_account(company: OidcProvider, roles: None) -> None:
    names = {
        "miles.o'brien@example.com": "miles.o-brien",
        "r&d@example.com": "r-d",
        "ada_partner.example#EXT#@corp.onmicrosoft.com": "ada_partner.example-EXT-",
    }
    made = {address: accounts._make(address, Staff(), "viewer").username for address in names}
    assert made == names
    company.say(person=COMPLIANCE | {"email": "a/b!c@example.com"})
    assert is_in(sign_in(company)[0])
    assert Staff.objects.get(email="a/b!c@example.com").username == "a-b-c"


def test_a_subject_has_up_to_255_characters(company: OidcProvider, ada: Staff) -> None:
    company.say(person=ADA | {"sub": "s" * 255})
    assert is_in(sign_in(company)[0])
    company.say(person=ADA | {"sub": "s" * 255, "email": "ada@married.example"})
    assert is_in(sign_in(company)[0])
    company.say(person=ADA | {"sub": "s" * 254 + "t", "email": "bob@example.com"})
    assert refusal(sign_in(company)[1]) == "unknown person"


def test_the_claim_of_the_groups_may_be_nested(company: OidcProvider, roles: None, settings: Settings) -> None:
    settings.STAFF_OIDC_ROLES_CLAIM = "realm_access.roles"
    company.say(person=ADA, idToken={"realm_access": {"roles": ["compliance"]}})
    assert is_in(sign_in(company)[0])
    company.say(person=ADA | {"sub": "2", "email": "b@example.com"}, idToken={"realm_access": ["compliance"]})
    assert refusal(sign_in(company)[1]) == "no role"


def test_roles_are_those_of_the_groups_in_the_claim(roles: None, settings: Settings) -> None:
    cases: list[tuple[str, dict[str, Any], set[str]]] = [
        ("groups", {"groups": ["everybody", "compliance", "audit"]}, {"reviewer", "auditor"}),
        ("groups", {"groups": "compliance"}, {"reviewer"}),
        ("groups", {"groups": []}, set()),
        ("groups", {"groups": ["everybody"]}, set()),
        ("groups", {"groups": None}, set()),
        ("groups", {"groups": {"compliance": 1}}, set()),
        ("groups", {}, set()),
        # An address, whose dots name nothing.
        ("https://corp.example/groups", {"https://corp.example/groups": ["compliance"]}, {"reviewer"}),
        ("realm_access.roles", {"realm_access": {"roles": ["compliance"]}}, {"reviewer"}),
        ("realm_access.roles", {"realm_access": ["compliance"]}, set()),
    ]

    def found(claim: str, claims: dict[str, Any]) -> set[str]:
        settings.STAFF_OIDC_ROLES_CLAIM = claim
        return accounts._roles(claims)

    assert [(claim, claims, found(claim, claims)) for claim, claims, _ in cases] == cases


def test_who_was_made_a_superuser_here_is_one_no_longer(company: OidcProvider, roles: None) -> None:
    company.say(person=COMPLIANCE)
    sign_in(company)
    Staff.objects.filter(username="ada").update(is_superuser=True)
    sign_in(company)
    assert role_names(Staff.objects.get(username="ada")) == ["reviewer"]
    assert len(trail("directory.rolesSet")) == 1


def test_an_account_with_a_password_is_not_found_until_it_is_invited_again(company: OidcProvider) -> None:
    staff = factories.StaffFactory.create(role="reviewer")
    company.say(person=ADA | {"email": staff.email})
    assert refusal(sign_in(company)[1]) == "account not invited"
    invite_again(staff=staff, reason="Signs in with the company's account from now on.")
    assert is_in(sign_in(company)[0])
    staff.refresh_from_db()
    assert not staff.password_is_one_time


def test_a_disabled_account_stays_out(company: OidcProvider, roles: None) -> None:
    company.say(person=COMPLIANCE)
    client, _ = sign_in(company)
    factories.StaffFactory.create(role="administrator")
    disable(staff=Staff.objects.get(username="ada"), reason="Left.")
    assert not is_in(client)
    client, response = sign_in(company)
    assert refusal(response) == "no access"
    assert not is_in(client)
    assert trail("signIn.refusedDirectory") == [("oidc", "signIn.refusedDirectory", "ada")]


def test_an_unknown_person_with_a_group_gets_an_account(company: OidcProvider, roles: None) -> None:
    company.say(person=COMPLIANCE)
    client, _ = sign_in(company)
    assert client.get(QUEUE).status_code == 200
    staff = Staff.objects.get(username="ada")
    assert (staff.get_full_name(), staff.email, role_names(staff)) == ("Ada Lovelace", "ada@example.com", ["reviewer"])
    assert not staff.has_usable_password()
    assert trail("directory.made", "staff.created", "staffRole.created") == [
        ("oidc", "staff.created", "ada"),
        ("oidc", "staffRole.created", "ada"),
        ("oidc", "directory.made", "ada"),
    ]


def test_who_signs_in_by_the_provider_has_a_second_factor(company: OidcProvider, ada: Staff) -> None:
    sign_in(company)
    assert [row["secondFactor"] for row in outcome("list_staff")["staff"]] == [True]


def test_a_name_that_is_taken_is_replaced_by_the_address(company: OidcProvider, roles: None) -> None:
    create_staff(username="Ada", email="other@example.com", role="viewer")
    company.say(person=COMPLIANCE)
    sign_in(company)
    assert Staff.objects.get(email="ada@example.com").username == "ada@example.com"


def test_without_a_group_of_the_list_nobody_gets_in(company: OidcProvider, roles: None, ada: Staff) -> None:
    company.say(person=ADA | {"groups": ["everybody"]})
    client, response = sign_in(company)
    assert refusal(response) == "no role"
    assert not is_in(client)


def test_the_directory_sets_the_roles_at_every_sign_in(company: OidcProvider, roles: None) -> None:
    company.say(person=COMPLIANCE)
    first, _ = sign_in(company)
    company.say(person=COMPLIANCE | {"groups": ["audit", "compliance"]})
    sign_in(company)
    staff = Staff.objects.get(username="ada")
    assert role_names(staff) == ["auditor", "reviewer"]
    company.say(person=COMPLIANCE | {"groups": []})
    client, response = sign_in(company)
    assert refusal(response) == "no role"
    assert not is_in(client)
    assert role_names(staff) == []
    # A session of before has no right left.
    assert first.get(QUEUE).status_code == 403
    assert trail("directory.rolesSet") == [("oidc", "directory.rolesSet", "ada")] * 2


def test_who_was_made_by_the_directory_is_related_to_nobody(
    company: OidcProvider, roles: None, create_user: Callable[..., Response]
) -> None:
    user = User.objects.get(pk=create_user().json()["userId"])
    with no_rules_left():
        set_rule("always")
        for person in (COMPLIANCE, COMPLIANCE | {"sub": "bob-1", "email": "bob@example.com"}):
            company.say(person=person)
            client, _ = sign_in(company)
        proposal = proposals.propose(
            compliance.Decision(user=user, to_status="active", by=Staff.objects.get(username="ada"), reason="Seen.")
        )
        client.post(
            reverse("backoffice_approve_proposal", args=(user.pk,)),
            {"proposal": str(proposal.pk), "version": version_of(user)},
        )
        user.refresh_from_db()
        assert user.status == "active"


# The second factor


@pytest.mark.parametrize("said", [{"amr": ["pwd", "hwk"]}, {"amr": ["mfa"]}])
def test_the_providers_second_factor_is_enough(company: OidcProvider, ada: Staff, said: dict[str, Any]) -> None:
    TOTP.activate(ada, TOTP_SECRET)
    company.say(person=ADA | said)
    assert is_in(sign_in(company)[0])


def test_acr_says_so_too_where_the_settings_name_its_value(
    company: OidcProvider, ada: Staff, settings: Settings
) -> None:
    settings.STAFF_OIDC_MFA_VALUES = ["gold"]
    company.say(person=ADA | {"amr": ["mfa"], "acr": "bronze"})
    assert not is_in(sign_in(company)[0])
    company.say(person=ADA | {"amr": [], "acr": "gold"})
    assert is_in(sign_in(company)[0])


def test_without_one_ours_is_asked_as_after_a_password(company: OidcProvider, ada: Staff) -> None:
    company.say(person=ADA | {"amr": ["pwd"]})
    client, _ = sign_in(company)
    assert client.get(QUEUE).headers["Location"].startswith("/admin/account/factors/?")
    TOTP.activate(ada, TOTP_SECRET)
    client, response = sign_in(company, next=QUEUE)
    assert response.headers["Location"].startswith("/admin/account/factors/code/")
    assert not is_in(client)
    assert client.post("/admin/account/factors/code/", {"code": totp_code()}).headers["Location"] == QUEUE


def proposal_to_approve(company: OidcProvider, create_user: Callable[..., Response]) -> tuple[Client, User, Any]:
    """A browser of Ada whose factor is stale, and where she is sent when she approves."""
    user = User.objects.get(pk=create_user().json()["userId"])
    proposal = proposals.propose(compliance.Decision(user=user, to_status="active", by=reviewer(), reason="Seen."))
    client, _ = sign_in(company)
    grow_stale(client)
    path = reverse("backoffice_approve_proposal", args=(user.pk,))
    asked = client.post(path, {"proposal": str(proposal.pk), "version": version_of(user)})
    assert asked.headers["Location"].startswith(CONFIRM)
    page = client.get(asked.headers["Location"]).content.decode()
    assert f'href="{LOGIN}?next={path.replace("/", "%2F")}"' in page
    assert "verified within the last 10 minutes" in page
    return client, user, path


def test_approving_asks_the_provider_again_and_then_approves(
    company: OidcProvider, ada: Staff, create_user: Callable[..., Response]
) -> None:
    with no_rules_left():
        set_rule("always")
        client, user, path = proposal_to_approve(company, create_user)
        asked = client.get(LOGIN, {"next": path}).headers["Location"]
        query = parse_qs(urlsplit(asked).query)
        assert (query["prompt"], query["max_age"]) == (["login"], ["0"])
        client.get(company.visit(asked).removeprefix("http://testserver"))
        user.refresh_from_db()
        assert user.status == "active"


@pytest.mark.parametrize(
    ("wrong", "cause"),
    [
        ({"idToken": {"auth_time": 1_700_000_000}}, "auth_time"),
        ({"idToken": {"auth_time": None}}, "auth_time"),
        ({"person": ADA | {"amr": ["pwd"]}}, "no second factor"),
        ({"person": ADA | {"sub": "bob-1"}}, "another person"),
        ({"person": ADA | {"sub": "bob-1", "email": "bob@example.com", "groups": ["compliance"]}}, "another person"),
    ],
)
def test_nothing_is_approved_unless_the_same_person_is_there_now(
    company: OidcProvider,
    ada: Staff,
    create_user: Callable[..., Response],
    settings: Settings,
    wrong: dict[str, Any],
    cause: str,
) -> None:
    with no_rules_left():
        set_rule("always")
        client, user, path = proposal_to_approve(company, create_user)
        settings.STAFF_OIDC_ROLES = {"compliance": "reviewer"}
        before = Staff.objects.filter(is_emergency=False).count()
        company.say(**wrong)
        assert refusal(sign_in(company, client, next=path)[1]) == cause
        about = [] if cause == "auth_time" else [("oidc", "signIn.refusedConfirmation", "ada")]
        assert trail("signIn.refusedConfirmation") == about
        user.refresh_from_db()
        assert user.status == "pendingCompliance"
        assert Staff.objects.filter(is_emergency=False).count() == before
        assert SocialAccount.objects.count() == 1


# What is wrong with the provider


@pytest.mark.parametrize(
    ("wrong", "cause"),
    [
        ({"idToken": {"aud": "another-client"}}, "ID token: InvalidAudienceError"),
        ({"idToken": {"aud": [CLIENT_ID, "another-client"]}}, "azp"),
        ({"idToken": {"aud": [CLIENT_ID, "another-client"], "azp": "another-client"}}, "azp"),
        ({"idToken": {"azp": "another-client"}}, "azp"),
        ({"idToken": {"iss": "https://evil.example"}}, "ID token: InvalidIssuerError"),
        ({"idToken": {"exp": 1_700_000_000}}, "ID token: ExpiredSignatureError"),
        ({"idToken": {"exp": None}}, "ID token: MissingRequiredClaimError"),
        ({"idToken": {"exp": "4000000000"}}, "exp"),
        ({"idToken": {"iat": 4_000_000_000}}, "ID token: ImmatureSignatureError"),
        ({"idToken": {"nonce": "another"}}, "nonce"),
        ({"idToken": {"sub": "bob-1"}}, "subject"),
        ({"otherKey": True}, "ID token: InvalidSignatureError"),
        ({"cancel": True}, "cancelled"),
    ],
)
def test_a_wrong_answer_signs_nobody_in(
    company: OidcProvider, ada: Staff, wrong: dict[str, Any], cause: str, capfd: pytest.CaptureFixture[str]
) -> None:
    company.say(**wrong)
    client, response = sign_in(company)
    assert refusal(response) == cause
    assert not is_in(client)
    assert not SocialAccount.objects.exists()
    assert trail("signIn.refusedProvider") == [("oidc", "signIn.refusedProvider", "")]
    assert "ada@example.com" not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    "claims",
    [
        # Two audiences, ours the authorized party.
        lambda: {"aud": [CLIENT_ID, "another-client"], "azp": CLIENT_ID},
        # Its clock may be ahead by less than a minute.
        lambda: {"iat": int(time.time()) + 50},
    ],
)
def test_an_unusual_answer_is_right(company: OidcProvider, ada: Staff, claims: Callable[[], dict[str, Any]]) -> None:
    company.say(idToken=claims())
    assert is_in(sign_in(company)[0])


def test_a_key_without_a_name_and_an_algorithm_verifies(company: OidcProvider, ada: Staff) -> None:
    company.say(bareKey=True)
    assert is_in(sign_in(company)[0])
    company.say(bareKey=True, otherKey=True)
    assert refusal(sign_in(company)[1]) == "ID token: InvalidSignatureError"
    company.say(rotate="ES256", bareKey=True)
    assert is_in(sign_in(company)[0])
    company.say(rotate="RS256")


def test_a_provider_without_userinfo_is_enough(company: OidcProvider, ada: Staff) -> None:
    claims = {name: ADA[name] for name in ("email", "email_verified")}
    company.say(discovery={"userinfo_endpoint": None}, hang="/me", idToken=claims)
    assert is_in(sign_in(company)[0])


def test_another_provider_takes_the_secret_by_basic_and_has_all_claims_in_the_id_token(
    tmp_path: Path, settings: Settings, roles: None
) -> None:
    given = {"AUTH_METHOD": "client_secret_basic", "CLAIMS_IN_ID_TOKEN": "true"}
    with started(tmp_path, f"http://testserver{CALLBACK}", **given) as provider:
        configure(settings, provider)
        discovery = {"token_endpoint_auth_methods_supported": None, "userinfo_endpoint": None}
        provider.say(person=COMPLIANCE, hang="/me", discovery=discovery)
        assert sign_in(provider)[0].get(QUEUE).status_code == 200


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/token", "/jwks", "/me"])
def test_a_provider_that_does_not_answer_signs_nobody_in(
    company: OidcProvider, ada: Staff, settings: Settings, path: str
) -> None:
    settings.SOCIALACCOUNT_REQUESTS_TIMEOUT = 0.5
    company.say(hang=path)
    client = Client()
    response = client.get(LOGIN)
    if response.status_code == 302:
        response = client.get(company.visit(response.headers["Location"]).removeprefix("http://testserver"))
    assert refusal(response) == "ReadTimeout"
    assert not is_in(client)


def test_a_provider_that_is_away_leaves_the_password(company: OidcProvider, settings: Settings) -> None:
    settings.STAFF_OIDC_ISSUER = "http://127.0.0.1:9"
    assert refusal(Client().get(LOGIN)).startswith("ConnectionError")
    assert log_in(enrolled())[1].status_code == 302


def test_another_issuer_in_the_discovery_document_is_refused(company: OidcProvider, settings: Settings) -> None:
    settings.STAFF_OIDC_ISSUER = f"{company.issuer}/"
    assert refusal(Client().get(LOGIN)).startswith("issuer")


def test_an_answer_is_good_once_and_for_the_browser_that_asked(company: OidcProvider, ada: Staff) -> None:
    client = Client()
    answer = back(company, client)
    assert refusal(Client().get(answer)) == "unknown"
    assert client.get(answer).status_code == 302
    client.post("/admin/account/logout/")
    assert client.get(answer).status_code == 403
    assert not is_in(client)
    # Anybody can cause such lines: an address adds one a minute.
    assert len(trail("signIn.refusedProvider")) == 1


def test_a_code_is_good_once(company: OidcProvider, ada: Staff) -> None:
    client, other = Client(), Client()
    answer = back(company, client)
    client.get(answer)
    used, fresh = (parse_qs(urlsplit(one).query) for one in (answer, back(company, other)))
    assert refusal(other.get(CALLBACK, {"code": used["code"][0], "state": fresh["state"][0]})) == "OAuth2Error"
    assert not is_in(other)


def test_the_query_of_the_sign_in_changes_nothing_that_is_sent_to_the_provider(company: OidcProvider) -> None:
    given = {"scope": "offline_access", "auth_params": "prompt=none&max_age=9", "process": "connect"}
    sent = parse_qs(urlsplit(Client().get(LOGIN, given).headers["Location"]).query)
    assert set(sent["scope"][0].split()) == {"openid", "profile", "email"}
    assert sent.keys() >= {"state", "nonce", "code_challenge"}
    assert not sent.keys() & {"prompt", "max_age"}


def test_the_scope_of_the_groups_is_asked_for_where_the_provider_has_one(company: OidcProvider, roles: None) -> None:
    sent = parse_qs(urlsplit(Client().get(LOGIN).headers["Location"]).query)
    assert "groups" in sent["scope"][0].split()


# The pages


@pytest.mark.parametrize("to", ["/\\evil.example", "javascript:alert(1)"])
def test_next_leads_to_no_other_host(company: OidcProvider, ada: Staff, to: str) -> None:
    client, response = sign_in(company, next=to)
    assert response.headers["Location"] == "/admin/"
    response = client.get(back(company, client, next=to))
    assert response.headers["Location"] == "/"
    page = client.get(CONFIRM, {"next": to}).content.decode()
    assert f'href="{LOGIN}?next="' in page
    assert "evil" not in page


def test_a_sign_in_does_not_keep_the_session_that_somebody_planted(company: OidcProvider, ada: Staff) -> None:
    client = Client()
    answer = back(company, client)
    planted = client.session.session_key
    client.get(answer)
    assert is_in(client)
    assert client.session.session_key != planted
    other = Client()
    other.cookies["sessionid"] = planted or ""
    assert not is_in(other)


@pytest.mark.parametrize(
    ("seconds", "names"),
    [(31 * 60, ["staff_login.active"]), (12 * 60 * 60 + 1, ["staff_login.started"])],
    ids=["idle for half an hour", "twelve hours old"],
)
def test_a_session_that_the_provider_began_ends_as_others_do(
    company: OidcProvider, ada: Staff, seconds: int, names: list[str]
) -> None:
    client, _ = sign_in(company)
    assert is_in(client)
    age(client, seconds, *names)
    assert not is_in(client)
    assert trail("signIn.ended") == [("ada", "signIn.ended", "ada")]


def test_the_confirmation_is_for_who_is_signed_in(company: OidcProvider) -> None:
    response = Client().get(CONFIRM, {"next": QUEUE})
    assert (response.status_code, response.headers["Location"]) == (302, "/admin/account/login/")


def test_the_pages_are_not_there_without_a_provider() -> None:
    for path in (LOGIN, CALLBACK):
        assert Client().get(path).status_code == 404
    assert inside(enrolled()).get(CONFIRM).status_code == 404
    assert "company/login" not in Client().get("/admin/account/login/").content.decode()


def test_too_many_requests_are_refused(company: OidcProvider, settings: Settings) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"provider": "2/m/ip"}
    assert [Client().get(LOGIN).status_code for _number in range(3)] == [302, 302, 429]


def test_a_sign_in_counts_once_and_an_office_of_sixty_gets_in(
    company: OidcProvider, ada: Staff, settings: Settings
) -> None:
    assert int(settings.ACCOUNT_RATE_LIMITS["provider"].partition("/")[0]) >= 60
    settings.ACCOUNT_RATE_LIMITS = {"provider": "1/m/ip"}
    assert is_in(sign_in(company)[0])


# Without passwords


@pytest.fixture
def no_passwords(company: OidcProvider, settings: Settings) -> None:
    settings.STAFF_PASSWORD_LOGIN = False


def test_the_provider_is_the_only_way_in(no_passwords: None, company: OidcProvider, ada: Staff) -> None:
    staff = enrolled()
    client, response = log_in(staff)
    assert response.status_code == 200
    assert not is_in(client)
    assert trail("signIn.refusedPasswordLogin")[0][2] == staff.username
    assert is_in(sign_in(company)[0])


def test_sessions_that_a_password_began_end_and_those_of_others_go_on(
    company: OidcProvider, ada: Staff, settings: Settings
) -> None:
    staff, emergency = enrolled(), enrolled()
    Staff.objects.filter(pk=emergency.pk).update(is_emergency=True)
    by_password, in_emergency, (by_provider, _) = inside(staff), inside(emergency), sign_in(company)
    assert is_in(by_password)
    settings.STAFF_PASSWORD_LOGIN = False
    assert not is_in(by_password)
    assert "_auth_user_id" not in by_password.session
    assert trail("signIn.ended") == [(staff.username, "signIn.ended", staff.username)]
    assert is_in(in_emergency)
    assert is_in(by_provider)


def test_a_passkey_is_no_way_past_the_provider(no_passwords: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever allauth has verified: the account has to be one for emergencies."""
    staff = enrolled()
    passkey = Authenticator.objects.get(user=staff, type="totp")
    passkey.type, passkey.data = "webauthn", {"name": "key"}
    passkey.save()
    monkeypatch.setattr(LoginWebAuthnForm, "clean_credential", lambda _form: Authenticator.objects.get(pk=passkey.pk))

    def sign_in_by_passkey() -> Client:
        client = Client()
        client.post("/admin/account/factors/passkeys/login/", {"credential": json.dumps(PASSKEY)})
        return client

    assert not is_in(sign_in_by_passkey())
    assert trail("signIn.refusedPasswordLogin") == [(staff.username, "signIn.refusedPasswordLogin", staff.username)]
    Staff.objects.filter(pk=staff.pk).update(is_emergency=True)
    assert is_in(sign_in_by_passkey())


def test_an_emergency_account_signs_in_with_a_password(no_passwords: None) -> None:
    staff = enrolled()
    Staff.objects.filter(pk=staff.pk).update(is_emergency=True)
    before = REGISTRY.get_sample_value("psi_emergency_sign_ins_total") or 0
    client, response = log_in(staff, PASSWORD)
    client.post(response.headers["Location"], {"code": totp_code()})
    assert is_in(client)
    assert REGISTRY.get_sample_value("psi_emergency_sign_ins_total") == before + 1
    assert trail("signIn.emergency") == [(staff.username, "signIn.emergency", staff.username)]


def test_the_directory_finds_no_emergency_account(company: OidcProvider, ada: Staff) -> None:
    Staff.objects.filter(pk=ada.pk).update(is_emergency=True)
    assert refusal(sign_in(company)[1]) == "account not invited"
