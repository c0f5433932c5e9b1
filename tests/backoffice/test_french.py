"""The back office in French, by Accept-Language or by choice; partners are answered in English."""

from html import unescape

import pytest
from django.test import Client
from django.utils import translation

from core.refusals import RefusedError
from partners.models import Partner
from tests import factories
from tests.support.client import PartnerClient
from tests.support.staff import client_as
from tests.users.deciding import case_of, decide_url, decision
from users.decisions import compliance
from users.models import Status, StatusChange, User

pytestmark = pytest.mark.django_db

LOGIN, QUEUE = "/admin/account/login/", "/admin/users/user/queue/"
ENGLISH_QUEUE = ("Next case", "Claimed by", "In time")
FRENCH = {"Accept-Language": "fr-CA,fr;q=0.9,en;q=0.5"}


def french(client: Client, path: str) -> str:
    response = client.get(path, headers=FRENCH)
    assert response.status_code == 200
    assert response.headers["Content-Language"] == "fr"
    return unescape(response.content.decode())


def english(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.headers["Content-Language"] == "en"
    return unescape(response.content.decode())


def holds(page: str, *texts: str) -> bool:
    lacking = [text for text in texts if text not in page]
    assert not lacking
    return True


def test_the_login_is_in_french() -> None:
    page = french(Client(), LOGIN)
    assert holds(page, '<html lang="fr">', "Ouvrir une session", "clé d’accès", "Mot de passe")
    assert "Sign in" not in page


def test_a_case_its_dialog_and_dates_are_in_french(user: User) -> None:
    reviewer = client_as("reviewer")
    page = french(reviewer, case_of(user))
    assert holds(page, "Profil soumis", "En attente de conformité", "Chronologie", "Date de naissance")
    assert holds(page, "Approuver, dossier suivant", "Refuser", "Identité et adresse vérifiées", "Motif", "Note")
    assert holds(page, "10 décembre 1990")
    for text in ("Approve", "Reject", "Submitted profile", "Timeline", "Date of birth"):
        assert text not in page
    assert "Dec. 10, 1990" in english(reviewer, case_of(user))


def test_a_refusal_is_in_french(user: User) -> None:
    reviewer = client_as("reviewer")
    fields = decision(user)
    response = reviewer.post(decide_url(user), fields | {"reason_code": ""}, headers=FRENCH, follow=True)
    assert "Choisissez un motif." in unescape(response.content.decode())


def test_the_recorded_reason_is_in_english_whatever_the_page(user: User) -> None:
    reviewer = client_as("reviewer")
    reviewer.post(decide_url(user), decision(user), headers=FRENCH)
    assert StatusChange.objects.get(user=user).reason == "Identity and address verified"


def test_compliance_refuses_in_the_readers_language(partner: Partner) -> None:
    closed = factories.UserFactory.create(partner=partner, status=Status.CLOSED)
    wanted = compliance.Decision(user=closed, to_status="active", by=factories.StaffFactory.create(), reason="Seen.")
    refusals = {
        "en": "A user who is closed cannot become active; allowed: nothing: it is final.",
        "fr": (
            "Un utilisateur au statut closed ne peut pas passer à active; "
            "permis\u00a0: rien\u00a0: ce statut est définitif."
        ),
    }
    for language, refusal in refusals.items():
        with translation.override(language), pytest.raises(RefusedError) as refused:
            compliance.decide(wanted)
        assert str(refused.value) == refusal


def test_the_language_chosen_is_kept_in_a_cookie(user: User) -> None:
    reviewer = client_as("reviewer")
    page = english(reviewer, QUEUE)
    assert holds(page, 'action="/admin/language/"', "français", *ENGLISH_QUEUE)
    response = reviewer.post("/admin/language/", {"language": "fr", "next": QUEUE})
    assert (response.status_code, response.headers["Location"]) == (302, QUEUE)
    cookie = reviewer.cookies["django_language"]
    assert (cookie.value, cookie["samesite"], bool(cookie["httponly"])) == ("fr", "Lax", True)
    page = unescape(reviewer.get(QUEUE, headers={"Accept-Language": "en"}).content.decode())
    assert holds(page, "File d’attente", "Dossier suivant", "Prendre en charge", "Dans les délais", "Filtres")
    assert [text for text in ENGLISH_QUEUE if text in page] == []


def test_an_unknown_language_is_answered_in_english() -> None:
    response = Client().get(LOGIN, headers={"Accept-Language": "de"})
    assert response.headers["Content-Language"] == "en"
    assert "Sign in" in response.content.decode()


def test_partners_are_answered_in_english(api: PartnerClient) -> None:
    wrong = factories.user_body(email="nobody", dateOfBirth="1990-13-01", firstName="")
    wanted = api.post("/v1/users", wrong).json()
    # A page in French on this very thread first.
    french(Client(), LOGIN)
    assert translation.get_language() == "fr"
    api.defaults.update(FRENCH)
    response = api.post("/v1/users", wrong)
    assert response.status == 400
    assert response.header("Content-Language") is None
    assert response.json() | {"requestId": ""} == wanted | {"requestId": ""}
