"""The back office in French, by Accept-Language or by choice; partners are answered in English."""

from collections.abc import Callable
from html import unescape

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import translation

from partners.refusals import RefusedError
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.staff import client_as, words
from tests.users.deciding import case_of, decide_url, decision
from users.decisions import compliance
from users.models import AccessRecord, Status, StatusChange, User, UserEvent

pytestmark = pytest.mark.django_db

LOGIN = "/admin/account/login/"
FRENCH = {"Accept-Language": "fr-CA,fr;q=0.9,en;q=0.5"}


@pytest.fixture
def user(create_user: Callable[..., Response]) -> User:
    return User.objects.get(pk=create_user(externalId="ada").json()["userId"])


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


def test_a_wrong_password_is_refused_in_french() -> None:
    response = Client().post(LOGIN, {"login": "nobody", "password": "wrong"}, headers=FRENCH)
    assert "mot de passe" in unescape(response.content.decode()).partition("bo-form")[2].lower()


def test_the_queue_is_in_french(user: User) -> None:
    page = french(client_as("reviewer"), "/admin/users/queueduser/")
    assert holds(page, "File d’attente", "Dossier suivant", "Prendre en charge", "Dans les délais", "Filtres")
    for text in ("Next case", "Claimed by", "In time", "Waiting for a decision", "Pending compliance"):
        assert text not in page


def test_the_case_and_its_dialog_are_in_french(user: User) -> None:
    page = french(client_as("reviewer"), case_of(user))
    assert holds(page, "Profil soumis", "En attente de conformité", "Chronologie", "Date de naissance")
    assert holds(page, "Approuver, dossier suivant", "Refuser", "Identité et adresse vérifiées", "Motif", "Note")
    for text in ("Approve", "Reject", "Submitted profile", "Timeline", "Date of birth"):
        assert text not in page


def test_dates_are_in_french(user: User) -> None:
    reviewer = client_as("reviewer")
    assert "10 décembre 1990" in french(reviewer, case_of(user))
    assert "Dec. 10, 1990" in english(reviewer, case_of(user))


@pytest.mark.parametrize("path", ["/admin/", "/admin/exports/", "/admin/users/changeduser/"])
def test_other_pages_are_in_french_too(path: str) -> None:
    page = french(client_as("superuser"), path)
    assert holds(page, "Vue d’ensemble", "Journal des accès")


def test_the_access_log_names_the_pages_that_were_opened_in_french(user: User) -> None:
    client, event = client_as("superuser"), UserEvent.objects.get(pgh_obj=user)
    french(client, f"/admin/users/userevent/{event.pk}/change/")
    log = french(client, "/admin/users/accessrecord/")
    assert holds(log, "Historique du profil.")
    assert "Profile history." not in log
    assert {record.detail for record in AccessRecord.objects.all()} == {"history"}


def test_unfolds_texts_are_in_french(user: User) -> None:
    client = client_as("superuser")
    page = french(client, "/admin/users/user/?status__exact=pendingCompliance")
    assert holds(page, "Choisir une action", "Choisir l’action à exécuter", "Choisir la ligne", "contenu défilant")
    assert holds(french(client, "/admin/users/staff/add/"), "Inviter un collègue")


def test_active_is_in_the_gender_of_what_is_active() -> None:
    key, webhook = factories.ApiKeyFactory.create(), factories.WebhookEndpointFactory.create()
    client = client_as("superuser")
    staff = french(client, "/admin/users/staff/")
    assert holds(staff, "Actif")
    assert "Active" not in staff
    assert holds(french(client, f"/admin/partners/apikey/{key.pk}/change/"), '">active</span>')
    assert holds(french(client, f"/admin/partners/webhookendpoint/{webhook.pk}/change/"), '">actif</span>')


def test_the_heading_of_an_action_has_a_space_before_the_colon() -> None:
    partner = factories.PartnerFactory.create()
    page = french(client_as("superuser"), f"/admin/partners/partner/{partner.pk}/issue/")
    assert holds(page, f"Émettre une clé d’API\u00a0: {partner}")


def test_the_title_of_a_profile_change_is_in_french(user: User) -> None:
    event = UserEvent.objects.get(pgh_obj=user)
    assert holds(french(client_as("superuser"), f"/admin/users/userevent/{event.pk}/change/"), f"Créé {event.pk}")


@pytest.mark.parametrize(
    ("number", "count"),
    [(0, "0 entrée"), (1, "1 entrée · les plus récentes d’abord"), (2, "2 entrées · les plus récentes d’abord")],
)
def test_lists_are_counted_in_french(number: int, count: str, create_user: Callable[..., Response]) -> None:
    for _ in range(number):
        create_user()
    page = french(client_as("superuser"), "/admin/users/userevent/")
    assert words(page.partition('<p aria-live="polite">')[2].partition("</p>")[0]) == count


def test_roles_and_what_they_allow_are_in_french(db: None) -> None:
    client = client_as("administrator")
    assert holds(french(client, "/admin/auth/group/"), "Gestionnaire de partenaires")
    page = french(client, f"/admin/auth/group/{Group.objects.get(name='reviewer').pk}/change/")
    for text in ("Examinateur", "Décider du statut d’un utilisateur", "Voir\u00a0: utilisateurs"):
        assert holds(page, text), text


def test_outcomes_agree_with_users_and_a_status_with_one_user(user: User) -> None:
    factories.decide(user, Status.SUSPENDED)
    figures = words(french(client_as("auditor"), "/admin/"))
    for outcome in ("Activés", "Refusés", "Suspendus", "Fermés", "Rouverts"):
        assert f"{outcome}\u00a0: " in figures or f"{outcome} : " in figures, figures
    decisions = words(french(client_as("auditor"), "/admin/users/statuschange/"))
    assert "Approuvé" in decisions
    assert "Suspendu" in decisions


def test_a_refusal_is_in_french(user: User) -> None:
    reviewer = client_as("reviewer")
    fields = decision(reviewer, user)
    User.objects.filter(pk=user.pk).update(occupation="Nurse")
    response = reviewer.post(decide_url(user), fields | {"reason_code": ""}, headers=FRENCH, follow=True)
    assert "Choisissez un motif." in unescape(response.content.decode())


def test_the_recorded_reason_is_in_english_whatever_the_page(user: User) -> None:
    reviewer = client_as("reviewer")
    reviewer.post(decide_url(user), decision(reviewer, user), headers=FRENCH)
    assert StatusChange.objects.get(user=user).reason == "Identity and address verified"


@pytest.mark.parametrize(
    ("language", "refusal"),
    [
        (
            "fr",
            (
                "Un utilisateur au statut closed ne peut pas passer à active; "
                "permis\u00a0: rien\u00a0: ce statut est définitif."
            ),
        ),
        ("en", "A user who is closed cannot become active; allowed: nothing: it is final."),
    ],
)
def test_compliance_refuses_in_the_readers_language(language: str, refusal: str, user: User) -> None:
    factories.decide(user, Status.CLOSED)
    with translation.override(language), pytest.raises(RefusedError) as refused:
        compliance.change_status(
            user=user, to_status="active", by=factories.StaffFactory.create(), reason="Papers seen."
        )
    assert str(refused.value) == refusal


def test_the_language_chosen_is_kept_in_a_cookie(user: User) -> None:
    reviewer = client_as("reviewer")
    assert holds(english(reviewer, "/admin/users/queueduser/"), 'action="/admin/language/"', "français")
    response = reviewer.post("/admin/language/", {"language": "fr", "next": "/admin/users/queueduser/"})
    assert (response.status_code, response.headers["Location"]) == (302, "/admin/users/queueduser/")
    cookie = reviewer.cookies["django_language"]
    assert (cookie.value, cookie["samesite"], bool(cookie["httponly"])) == ("fr", "Lax", True)
    assert "File d’attente" in unescape(
        reviewer.get("/admin/users/queueduser/", headers={"Accept-Language": "en"}).content.decode()
    )


def test_choosing_a_language_does_not_redirect_to_another_site() -> None:
    response = client_as("reviewer").post("/admin/language/", {"language": "fr", "next": "https://example.org/"})
    assert response.headers["Location"] == "/"


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


def test_reasons_in_the_audit_log_are_in_french(user: User) -> None:
    factories.StatusChangeFactory.create(user=user, reason="Identity and address verified", reason_code="verified")
    page = french(client_as("auditor"), "/admin/partners/auditentry/")
    assert "code de motif\u00a0: Identité et adresse vérifiées" in page
    assert "Identity and address verified" not in page
    assert "Actif" in page


def test_nobody_is_no_person(user: User) -> None:
    assert "Aucune personne" in words(french(client_as("reviewer"), "/admin/users/queueduser/"))
