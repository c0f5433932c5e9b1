"""The packages: what they are, lists, events, webhooks and settings; `send` is in test_sending.py."""

import base64
import hmac
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from events.models import EventFeed
from tests import factories
from tests.examples.calling import DrivenClient, call, send
from tests.examples.gateway import Gateway
from tests.examples.languages import ENVIRONMENT, NODE, PYTHON, ROOT, Language, require
from tests.support.events import place_events
from tests.support.timeouts import WAIT_SECONDS
from users.models import Status, User

pytestmark = pytest.mark.parametrize("language", [PYTHON, NODE], ids=str)
MODULES = {
    ".py": ROOT / "clients" / "python" / "src" / "psi" / "__init__.py",
    ".mjs": ROOT / "clients" / "node" / "psi.mjs",
}


# What they are


@pytest.fixture
def module(language: Language) -> Path:
    return MODULES[".mjs" if language is NODE else ".py"]


def run(*command: str | Path, folder: Path) -> str:
    environment = ENVIRONMENT | {"HOME": str(folder)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_is_installed_from_its_folder(language: Language, tmp_path: Path) -> None:
    if language is NODE:
        require("npm")
        (tmp_path / "package.json").write_text('{"type": "module"}')
        run("npm", "install", "--offline", "--no-audit", "--no-fund", ROOT / "clients" / "node", folder=tmp_path)
        program = 'import { path } from "partner-service-interface-client"; console.log(path("users", "é"))'
        printed = run("node", "--input-type=module", "--eval", program, folder=tmp_path)
    else:
        # uv has the build backend in itself: nothing is downloaded.
        uv = Path(sys.executable).with_name("uv")
        run(uv, "build", "--offline", "--wheel", "--out-dir", tmp_path, ROOT / "clients" / "python", folder=tmp_path)
        [wheel] = tmp_path.glob("*.whl")
        run(uv, "pip", "install", "--offline", "--no-deps", "--target", "site", wheel, folder=tmp_path)
        program = "import sys; sys.path.insert(0, 'site'); import psi; print(psi.path('users', 'é'))"
        printed = run(sys.executable, "-c", program, folder=tmp_path)
    assert printed == "/v1/users/%C3%A9\n"


# Lists


def test_lists_are_read_page_by_page(through: DrivenClient, gateway: Gateway, user: User) -> None:
    first = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
    factories.add_conversions(user, [first + timedelta(seconds=number // 2) for number in range(7)])
    [found] = through.results(call("items", f"/v1/users/{user.external_id}/transactions", query={"limit": 3}))
    assert sorted(one["conversionId"] for one in found) == sorted(c.conversion_id for c in user.conversions.all())
    assert len(gateway.seen) == 3


# Events


def test_events_have_the_cursor_to_store(through: DrivenClient, gateway: Gateway, user: User) -> None:
    factories.decide(user, Status.ACTIVE)
    factories.add_documents(user, [factories.NOON] * 4)
    place_events()
    last = f"{EventFeed.objects.get(partner=user.partner_id).last_position:016x}"
    [seen] = through.results(call("events", None, limit=2))
    assert [event["type"] for event, _ in seen] == ["user.statusChanged", *["user.documentPublished"] * 4]
    cursors = [cursor for _, cursor in seen]
    # Within a page that of the page, so that a crash repeats events and loses none.
    assert cursors[0] is None
    assert cursors[1] == cursors[2]
    assert (len(set(cursors)), cursors[-1]) == (4, last)
    rest, nothing = through.results(call("events", cursors[1]), call("events", last))
    assert [event for event, _ in rest] == [event for event, _ in seen[2:]]
    assert nothing == []


def test_a_cursor_that_is_refused_is_named(driven: DrivenClient) -> None:
    [outcome] = driven.outcomes(call("events", "none"))
    assert [one["field"] for one in outcome["fieldErrors"]] == ["cursor"]


# Webhooks

BODY = '{"eventId":"0d6f2f6a-8a53-4c3e-9b0e-3f2d6a1c7b95","type":"user.renamed","data":{"externalId":"cust-Zoë"}}'
OLD, NEW, OTHER = (f"whsec_{base64.b64encode(bytes([number]) * 32).decode()}" for number in range(3))


def headers_of(*under: str, body: str = BODY, age: int = 0) -> dict[str, str]:
    """As the service sends them: a signature under each secret."""
    at = datetime.now(UTC) - timedelta(seconds=age)
    signatures = [Webhook(secret).sign("message", at, body) for secret in under]
    time = str(int(at.timestamp()))
    return {"webhook-id": "message", "Webhook-Timestamp": time, "webhook-signature": " ".join(signatures)}


def test_a_webhook_is_verified_under_any_of_the_secrets(driven: DrivenClient) -> None:
    events = driven.results(
        call("verifyWebhook", BODY, headers_of(OLD), [OLD]),
        call("verifyWebhook", BODY, headers_of(OLD, NEW), [NEW]),
        call("verifyWebhook", BODY, headers_of(NEW, OLD), [OTHER, OLD]),
        call("verifyWebhook", BODY, headers_of(OLD, age=290), [OLD]),
        call("verifyWebhook", BODY, headers_of(OLD, age=-290), [OLD]),
        call("verifyWebhook", BODY, headers_of(OLD, age=1000), [OLD], toleranceMs=1_100_000),
    )
    assert {event["data"]["externalId"] for event in events} == {"cust-Zoë"}


def test_a_webhook_that_is_not_signed_so_is_refused(driven: DrivenClient) -> None:
    valid = headers_of(OLD)
    signature, at = valid["webhook-signature"], valid["Webhook-Timestamp"]
    refused = [
        (BODY.replace("renamed", "closed"), valid, [OLD]),
        (BODY, valid, [NEW]),
        (BODY, headers_of(OLD, age=310), [OLD]),
        (BODY, headers_of(OLD, age=-310), [OLD]),
        (BODY, valid | {"webhook-id": "another"}, [OLD]),
        *((BODY, valid | {"Webhook-Timestamp": other}, [OLD]) for other in ("", "now", f"{at}\n", f"{at}.0", "١٢٣")),
        *((BODY, valid | {"Webhook-Timestamp": digit * count}, [OLD]) for digit in "09" for count in (13, 309, 5000)),
        *((BODY, valid | {name: "\ud800"}, [OLD]) for name in ("webhook-id", "Webhook-Timestamp", "webhook-signature")),
        (BODY, valid | {"webhook-signature": f"\udfff {signature[:-1]}"}, [OLD]),
        (BODY, valid | {"webhook-signature": signature.replace("v1,", "v2,")}, [OLD]),
        (BODY, valid | {"webhook-signature": signature.removeprefix("v1,")}, [OLD]),
        (BODY, valid | {"webhook-signature": ""}, [OLD]),
        (BODY, valid | {"webhook-signature": "v1,é"}, [OLD]),
        (BODY, {"webhook-id": "message"}, [OLD]),
        (BODY, {}, [OLD]),
        ("[", headers_of(OLD, body="["), [OLD]),
        ("[]", headers_of(OLD, body="[]"), [OLD]),
    ]
    outcomes = driven.outcomes(*(call("verifyWebhook", *arguments) for arguments in refused))
    assert [one.get("raised") for one in outcomes] == ["WebhookError"] * len(refused)


def test_an_empty_or_short_secret_verifies_nothing(driven: DrivenClient) -> None:
    # Signed under the empty key, as anybody can.
    at = str(int(time.time()))
    signature = base64.b64encode(hmac.digest(b"", f"message.{at}.{BODY}".encode(), "sha256")).decode()
    headers = {"webhook-id": "message", "webhook-timestamp": at, "webhook-signature": f"v1,{signature}"}
    wrong = ["", "whsec_", " ", "whsec_!", OLD[:-5], "whsec_AAAA", "whsec_é", f"{OLD}!"]
    secrets = [[], *([one] for one in wrong), *([OLD, one] for one in wrong)]
    outcomes = driven.outcomes(*(call("verifyWebhook", BODY, headers, one) for one in secrets))
    assert [one.get("raised") for one in outcomes] == ["SettingError"] * len(secrets)


# Settings


@pytest.mark.parametrize(
    ("settings", "text"),
    [({"PSI_API_KEY": ""}, "PSI_API_KEY is not set"), ({"PSI_SECRET": " \n"}, "PSI_SECRET is not set")],
)
def test_a_missing_setting_is_named(driven: DrivenClient, settings: dict[str, str], text: str) -> None:
    [outcome] = driven.outcomes(send("GET", "/v1/ping"), settings=settings)
    assert (outcome["raised"], outcome["text"], outcome["isTemporary"]) == ("SettingError", text, False)


def test_a_malformed_setting_is_named_without_its_value(driven: DrivenClient) -> None:
    key = driven.outcomes(
        *(call("settings", "https://partners.example", *values) for values in (("Ab\u00e9", "b"), ("a", "psi secret")))
    )
    assert [one["text"] for one in key] == [
        f"{name} has characters that do not belong there" for name in ("PSI_API_KEY", "PSI_SECRET")
    ]
    urls = [
        *("partners.example", "ftp://partners.example", "https://", "https://partners.example/v1"),
        *("https://partners.example/gateway/v1/", "https://partners.example?a=b", "https://partners.example/#a"),
        *("https://ada:pa55@partners.example", "https://pa55@partners.example/gateway"),
        "https:\\\\ada:pa55@partners.example",
    ]
    refused = driven.outcomes(*(call("settings", url, "key", "secret") for url in urls))
    text = "PSI_BASE_URL is not like https://partners.example: no /v1, ?, #, user name or password"
    assert [(one["raised"], one["text"]) for one in refused] == [("SettingError", text)] * len(urls)
    taken = [
        "https://partners.example/",
        "http://127.0.0.1:8000",
        "https://[::1]:8443/gateway/",
        "HTTPS://Partners.example",
    ]
    driven.results(*(call("settings", url, "key", "secret") for url in taken))


def test_what_copying_leaves_around_key_and_secret_is_stripped(driven: DrivenClient) -> None:
    access = driven.access
    settings = {"PSI_API_KEY": f" {access.api_key}\r\n", "PSI_SECRET": f"\ufeff{access.secret}\t\n"}
    [outcome] = driven.outcomes(send("GET", "/v1/ping"), settings=settings)
    assert outcome["result"]["status"] == 200
