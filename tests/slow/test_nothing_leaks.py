"""Secrets, signatures and personal data go through every endpoint and command, and are in no line of the log.

Among it are the failures whose texts hold values: PostgreSQL names the whole row that breaks a constraint.
"""

import json
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import IncompleteRead
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.core.management import get_commands

from core.database import serving_role
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.conftest import database_url
from tests.slow.live.conftest import production
from tests.support.client import PartnerClient, Response
from tests.support.forked import Forks, forks
from tests.support.leaking import (
    CONTENT,
    HOST,
    MARKERS,
    PASSWORD,
    PERSONAL,
    QUERY,
    REASON,
    SLUG,
    TITLE,
    Browser,
    all_paths,
    conversion_line,
    found_in,
)
from tests.support.staff import hidden_version
from tests.support.watched import Watched, watched
from users.models import User

FIELDS = {"event", "level", "timestamp"}
OF_REQUEST = FIELDS | {
    *("request_id", "partner", "key", "method", "route", "status"),
    *("milliseconds", "sql_statements", "sql_milliseconds"),
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    documents = tmp_path_factory.mktemp("documents")
    return {"SECRET_KEY": settings.SECRET_KEY, "DOCUMENT_STORAGE_URL": documents.as_uri()}


@pytest.fixture(scope="module")
def service(
    django_db_setup: None, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Watched]:
    with watched(tmp_path_factory.mktemp("log") / "log", **environment) as service:
        yield service


@pytest.fixture(scope="module")
def forked(django_db_setup: None, environment: dict[str, str]) -> Iterator[Forks]:
    """Commands as ops run them in production."""
    given = {"PSI_API_KEY": "psi_key_leak", "PSI_SECRET": "psi_secret_leak"}
    with forks(production(**environment) | given) as running:
        yield running


class Recorder:
    """A signed client's transport that remembers the signatures it sent."""

    def __init__(self, service: Watched) -> None:
        self.service = service
        self.signatures: list[str] = []

    def __call__(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Response:
        self.signatures.append(headers.get("X-Request-Signature", ""))
        return self.service.transport(method, target, headers, body)


@pytest.fixture
def recorder(service: Watched) -> Recorder:
    return Recorder(service)


@pytest.fixture
def api(committed_partner: Partner, recorder: Recorder) -> PartnerClient:
    return factories.client_of(committed_partner, recorder)


@pytest.fixture
def user(api: PartnerClient, committed_partner: Partner) -> User:
    response = api.post(f"/v1/users?q={QUERY}", factories.user_body(**PERSONAL), key=str(uuid.uuid4()))
    assert response.status == 201, response.body
    return User.objects.get(partner=committed_partner)


@contextmanager
def forbidden(table: str, condition: str) -> Iterator[None]:
    """A rule that the service knows nothing of: what breaks it fails in the database, which names the row."""
    with psycopg.connect(database_url(serving_role.OWNER), autocommit=True) as owner:
        owner.execute(f"ALTER TABLE {table} ADD CONSTRAINT leak CHECK ({condition}) NOT VALID")
        try:
            yield
        finally:
            owner.execute(f"ALTER TABLE {table} DROP CONSTRAINT leak")


def assert_silent(text: str, *more: str) -> None:
    """No marker is in it, nor any of these."""
    assert found_in(text, [*MARKERS, *more]) == []


def secrets_of(api: PartnerClient, recorder: Recorder) -> list[str]:
    """What proves to be the partner, but for the part of the key that it is recognised by."""
    return [api.secret, api.api_key, api.api_key[-20:], *filter(None, recorder.signatures)]


def test_partners_requests_leave_nothing_of_what_they_say(
    service: Watched, api: PartnerClient, recorder: Recorder, user: User
) -> None:
    path, personal = f"/v1/users/{PERSONAL['externalId']}", dict(PERSONAL)
    responses = [
        api.post("/v1/users", factories.user_body(**personal)),
        api.post("/v1/users", factories.user_body(**personal | {"email": f"no {QUERY}"})),
        api.post("/v1/users", json.dumps(personal).encode()[:-9]),
        api.patch(path, {"lastName": personal["lastName"] + "s"}),
        api.patch(path, {QUERY: 1}),
        api.get(f"{path}?{QUERY}={QUERY}"),
        api.get(f"{path}/transactions?cursor={QUERY}"),
        api.get(path, secret="psi_secret_leak"),
        api.get(f"/v1/{QUERY}/{PERSONAL['email']}"),
        api.send(QUERY.upper(), path),
    ]
    assert [response.status for response in responses] == [409, 400, 400, 200, 400, 200, 400, 401, 404, 405]
    assert_silent(service.log.read_text(), *secrets_of(api, recorder))


def test_a_row_that_the_database_refuses_is_not_told(
    service: Watched, api: PartnerClient, recorder: Recorder, user: User
) -> None:
    with forbidden("users_user", "province <> 'ON'"):
        responses = [
            api.post("/v1/users", factories.user_body(**PERSONAL | {"externalId": "Xtrn-8841-leak-2"})),
            api.patch(f"/v1/users/{PERSONAL['externalId']}", {"occupation": PERSONAL["occupation"] + "s"}),
        ]
    assert [response.status for response in responses] == [500, 500]
    failed = [line for line in service.lines() if line["event"] == "request failed"]
    assert [line["sqlstate"] for line in failed[-2:]] == ["23514"] * 2
    assert "django.db.utils.IntegrityError" in failed[-1]["failure"]
    assert_silent(service.log.read_text(), *secrets_of(api, recorder))


def test_a_document_that_is_cut_off_leaves_neither_its_title_nor_its_content(
    service: Watched, api: PartnerClient, user: User, environment: dict[str, str], forked: Forks, tmp_path: Path
) -> None:
    statement = tmp_path / "statement.txt"
    statement.write_text(CONTENT * 100_000)
    published = forked.run("publish_document", *whose(user), str(statement), "--type", "taxSlip", "--title", TITLE)
    assert published.status == 0, published.errors
    path = f"/v1/users/{PERSONAL['externalId']}/documents"
    document = api.get(path).json()["items"][0]["documentId"]
    assert api.get(f"{path}/{document}").status == 200
    (stored,) = (
        file for file in Path(environment["DOCUMENT_STORAGE_URL"].removeprefix("file://")).rglob("*") if file.is_file()
    )
    stored.write_text(CONTENT * 99_999 + CONTENT.upper())
    with pytest.raises(IncompleteRead):
        api.get(f"{path}/{document}")
    stored.write_text(CONTENT * 100_000)
    # The server's own line, too, has the places alone.
    (line,) = [line for line in service.lines() if line.get("logger", "").startswith("_granian")]
    assert line["event"] == "Application callable raised an exception"
    assert any("downloads.py" in place for place in line["failure"])
    assert_silent(service.log.read_text() + published.errors, CONTENT.upper())


@pytest.mark.parametrize("who", ["superuser", "stranger"])
def test_pages_leave_nothing_of_what_they_are_sent(service: Watched, user: User, who: str) -> None:
    staff = Staff.objects.create(username=f"leak-{uuid.uuid4()}", is_staff=True, is_superuser=True)
    browser = Browser(service, staff if who == "superuser" else None)
    form = PERSONAL | {"login": PERSONAL["email"], "username": PERSONAL["email"], "password": PASSWORD}
    form |= {"reason": REASON, "to_status": "active", "request": f"X-Request-Signature: {QUERY}", "code": QUERY}
    statuses = set()
    for path in all_paths(str(user.pk)):
        # Leaving ends the session, and the rest would be a stranger's.
        posts = [] if "logout" in path else [browser.post(path, form)]
        gets = [] if "logout" in path else [browser.get(f"{path}?q={QUERY}&{PERSONAL['email']}")]
        statuses |= {response.status for response in posts + gets}
    assert statuses >= ({200, 302, 403} if who == "superuser" else {200, 302, 404})
    assert_silent(service.log.read_text(), browser.session, browser.token)


def test_a_decision_that_the_database_refuses_leaves_no_reason(service: Watched, user: User) -> None:
    staff = Staff.objects.create(username=f"leak-{uuid.uuid4()}", is_staff=True, is_superuser=True)
    browser = Browser(service, staff)
    case = f"/admin/cases/{user.pk}/"
    form = {"version": hidden_version(browser.get(case).body.decode(), "/decide/"), "to_status": "active"}
    before = len(service.lines())
    with forbidden("users_statuschange", "false"):
        response = browser.post(f"{case}decide/", form | {"reason_code": "verified", "note": REASON})
    assert response.status == 500, response.body[:500]
    assert any("IntegrityError" in str(line.get("failure")) for line in service.lines()[before:])
    assert_silent(service.log.read_text(), browser.session)


def test_a_host_that_is_not_ours_is_not_repeated(service: Watched) -> None:
    before = len(service.lines())
    response = service.transport("GET", f"/admin/?{QUERY}", {"Host": HOST, "X-Forwarded-Proto": "https"}, b"")
    assert response.status == 400
    lines = service.lines()[before:]
    (line,) = [line for line in lines if line["event"] == "django.security.DisallowedHost"]
    # Anybody can send one: it is no error of the service, and its trace would fill the log.
    assert line["level"] == "warning"
    assert "failure" not in line
    assert not [line for line in lines if line["level"] in {"error", "critical"}]
    assert_silent(service.log.read_text())


def test_every_line_is_json_with_the_fields_that_it_is_to_have(service: Watched, api: PartnerClient) -> None:
    assert api.get("/v1/ping").status == 200
    lines = service.lines()
    assert all(line.keys() >= FIELDS for line in lines)
    requests = [line for line in lines if line["event"] == "request"]
    assert requests
    of_staff = [line for line in requests if "staff" in line]
    assert of_staff
    assert all(line.keys() - {"staff", "cause"} == OF_REQUEST for line in requests)


def whose(user: User) -> tuple[str, str]:
    return user.partner.slug, user.external_id


def commands(user: User, service: Watched) -> dict[str, tuple[list[str], str]]:
    """Each command of ours, with arguments and input that hold markers."""
    partner, external_id = whose(user)
    bad = "\n".join(
        json.dumps(line)
        for line in (
            conversion_line(partner, rate=QUERY),
            conversion_line(SLUG),
            conversion_line(partner, externalId=PERSONAL["email"]),
        )
    )
    entry = {"partner": partner, "externalId": external_id, "kind": "identityVerification", "method": "creditFile"}
    given: dict[str, tuple[list[str], str]] = {
        "add_webhook": ([partner, f"https://127.0.0.1/{PERSONAL['externalId']}", "--description", REASON], ""),
        "call": (
            [
                "POST",
                f"/v1/users?{QUERY}",
                "--data",
                json.dumps(PERSONAL),
                "--base-url",
                f"http://127.0.0.1:{service.port}",
            ],
            "",
        ),
        "change_user_status": ([partner, external_id, "active", "--reason", REASON, "--by", "leak-nobody"], ""),
        "create_partner": ([SLUG, "--name", PERSONAL["lastName"], "--rate-limit", QUERY], ""),
        "create_staff": (["leak", "--email", f"{PERSONAL['email']}@", "--role", "viewer"], ""),
        "import_conversions": (["-"], bad + f"\n{QUERY}\n"),
        "record_file_entries": (["-"], json.dumps(entry | dict.fromkeys(("source", "reference", "verifiedOn"), QUERY))),
        "publish_document": (
            [partner, external_id, "/dev/stdin", "--type", "taxSlip", "--title", TITLE + "\x07"],
            CONTENT,
        ),
        "reset_staff_mfa": (["leak-nobody", "--reason", REASON], ""),
    }
    apps = {"core", "partners", "events", "staff", "users", "transactions", "backoffice", "demo"}
    ours = {name for name, app in get_commands().items() if app in apps}
    # Those that serve or would change the roles that all tests share.
    return {
        name: given.get(name, ([], "")) for name in ours - {"demo", "deliver_events", "setup_database_roles", "migrate"}
    }


def test_commands_leave_nothing_on_standard_error(service: Watched, user: User, forked: Forks) -> None:
    jobs = commands(user, service)
    ended = {name: forked.run(name, *arguments, stdin=stdin) for name, (arguments, stdin) in jobs.items()}
    assert (ended["import_conversions"].status, ended["record_file_entries"].status) == (1, 1)
    found = {name: found_in(one.errors, [*MARKERS, "psi_secret_leak"]) for name, one in ended.items()}
    assert not any(found.values()), found
    assert_silent(service.log.read_text())


def test_a_command_that_crashes_tells_where_and_not_what(user: User, forked: Forks) -> None:
    staff = Staff.objects.create(username=f"leak-{uuid.uuid4()}", is_staff=True, is_superuser=True)
    with forbidden("users_statuschange", "false"):
        ended = forked.run("change_user_status", *whose(user), "active", "--reason", REASON, "--by", staff.username)
    assert ended.status == 1
    assert re.fullmatch(r"CommandError: IntegrityError at \S+\.py:\d+; `--traceback` shows all of it\.\n", ended.errors)
    assert_silent(ended.errors)
