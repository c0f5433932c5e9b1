"""The first call and *Go live*: commands and scripts, taken from the pages, run in their order in each language."""

import json
import re
import secrets
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from events.models import WebhookEndpoint
from partners.models import ApiKey, Mode, Partner
from tests import factories
from tests.docs_site.site import page
from tests.examples.languages import ENVIRONMENT, EXAMPLES, PROGRAMS, Workshop, require
from tests.slow.live.conftest import Server, free_port, serving
from tests.support.client import PartnerClient
from tests.support.events import place_events
from users.models import Status, User

TITLES = {".py": "Python", ".mjs": "Node.js", ".sh": "Bash"}
STEPS = sorted(path.stem for path in (EXAMPLES / "go_live").glob("step*.py"))
# Which pages.js replaces.
ADDRESS = "https://partners.example"

pytestmark = pytest.mark.parametrize("suffix", PROGRAMS, scope="module")


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the certificate that the page has its reader make."""
    require("openssl")
    folder = tmp_path_factory.mktemp("certificate")
    command = page("/docs/go-live/").code["certificate"]
    assert Workshop(folder).run(("bash", "-ec", command), ENVIRONMENT).returncode == 0
    return folder


@pytest.fixture(scope="module")
def server(django_db_setup: None, kept: Path, certified: Path) -> Iterator[Server]:
    """A live service on the reader's own machine, with the settings that the page names."""
    webhooks = {"WEBHOOK_ALLOW_LOOPBACK": "true", "WEBHOOK_CA_BUNDLE": str(certified / "cert.pem")}
    with serving(DEBUG="true", OWNER_DATABASE_URL="", DOCUMENT_STORAGE_URL=kept.as_uri(), **webhooks) as running:
        yield running


@pytest.fixture
def committed_sandbox(django_db_setup: None, django_db_blocker: Any) -> Iterator[Partner]:
    """A sandbox partner, which the service sees, and the relay, which gives it its events."""
    stop = threading.Event()

    def relay() -> None:
        try:
            while not stop.wait(0.1):
                place_events()
        finally:
            connections.close_all()

    with django_db_blocker.unblock():
        thread = threading.Thread(target=relay)
        thread.start()
        try:
            yield factories.PartnerFactory.create(slug=f"sandbox-{secrets.token_hex(4)}", mode=Mode.SANDBOX)
        finally:
            stop.set()
            thread.join()


@pytest.fixture
def sandbox(server: Server, committed_sandbox: Partner) -> PartnerClient:
    """A client of the sandbox partner."""
    return factories.client_of(committed_sandbox, server.transport)


@dataclass
class Walk:
    """The page's scripts of one language, in a folder where they were downloaded as the page says."""

    suffix: str
    folder: Path
    settings: dict[str, str]
    code: dict[str, str]

    def run(self, name: str) -> tuple[int, list[str], str]:
        """Exit status, lines printed, and complaint of a script."""
        done = self.execute(PROGRAMS[self.suffix][1], f"{name}{self.suffix}")
        return done.returncode, [line.rstrip() for line in done.stdout.decode().splitlines()], done.stderr.decode()

    def execute(self, *command: str) -> subprocess.CompletedProcess[bytes]:
        return Workshop(self.folder).run(command, ENVIRONMENT | self.settings)

    def expected(self, number: int) -> re.Pattern[str]:
        """What a step prints by the page: `…` is any text in a line, or any lines."""
        lines = self.code[f"output of step {number}"].splitlines()
        return re.compile("".join("(.*\n)*" if line == "…" else f"{_pattern(line)}\n" for line in lines))

    def switch_key(self) -> None:
        """Does with the new key what the page says."""
        assert (self.folder / "new_key.env").stat().st_mode & 0o077 == 0
        command = f'{self.code["switch to the new key"]}\nprintf \'%s\\n\' "$PSI_API_KEY" "$PSI_SECRET"'
        new = self.execute("bash", "-ec", command).stdout.decode().splitlines()
        assert new != [self.settings["PSI_API_KEY"], self.settings["PSI_SECRET"]]
        self.settings |= dict(zip(("PSI_API_KEY", "PSI_SECRET"), new, strict=True))


def _pattern(line: str) -> str:
    return ".+".join(map(re.escape, line.split("…")))


@pytest.fixture(scope="module")
def code(server: Server) -> dict[str, str]:
    """The page's blocks of code, by their captions, as a browser shows them."""
    address = f"http://127.0.0.1:{server.port}"
    return {name: text.replace(ADDRESS, address) for name, text in page("/docs/go-live/").code.items()}


@pytest.fixture(scope="module")
def exports(code: dict[str, str]) -> dict[str, str]:
    """The variables that the page exports; the reader has to replace some."""
    lines = (code["environment"] + code["environment of step 9"]).splitlines()
    words = (word.split("=", 1) for line in lines for word in line.removeprefix("export ").split())
    return {name: value.strip("'\"") for name, value in words}


@pytest.fixture(scope="module")
def downloaded(
    suffix: str, code: dict[str, str], exports: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder that a language's download makes."""
    language, _ = PROGRAMS[suffix]
    for program in (*language.needs, "bash", "curl", "jq"):
        require(program)
    folder = tmp_path_factory.mktemp("download")
    command = ("bash", "-ec", code["download"].replace("suffix=py ", f"suffix={suffix[1:]} "))
    assert Workshop(folder).run(command, ENVIRONMENT | exports).returncode == 0
    return folder / "go-live"


@pytest.fixture
def walk(
    sandbox: PartnerClient,
    suffix: str,
    code: dict[str, str],
    exports: dict[str, str],
    downloaded: Path,
    certified: Path,
    tmp_path: Path,
) -> Walk:
    # What the reader has to fill in; the port is another because tests run side by side.
    given = {"PSI_API_KEY": sandbox.api_key, "PSI_SECRET": sandbox.secret, "PORT": str(free_port())}
    given["EXTERNAL_ID"] = f"walk-{secrets.token_hex(4)}"
    given["PSI_WEBHOOK_URL"] = exports["PSI_WEBHOOK_URL"].replace(exports["PORT"], given["PORT"])
    assert given.keys() < exports.keys()
    folder = shutil.copytree(downloaded, tmp_path / "go-live")
    shutil.copytree(certified, folder, dirs_exist_ok=True)
    return Walk(suffix, folder, exports | given, code)


def test_the_first_page_leads_to_a_signed_call(
    suffix: str, server: Server, sandbox: PartnerClient, committed_sandbox: Partner, tmp_path: Path
) -> None:
    """With nothing but the page, a key and a secret."""
    for program in (*PROGRAMS[suffix][0].needs, "bash", "curl"):
        require(program)
    code = page("/docs/").code
    address = code["environment"].replace(ADDRESS, f"http://127.0.0.1:{server.port}")
    commands = address.replace("psi_test_key_…", sandbox.api_key).replace("psi_test_secret_…", sandbox.secret)
    python = f'export PIP_DISABLE_PIP_VERSION_CHECK=1\npython3() {{ {sys.executable} "$@"; }}\n'
    done = Workshop(tmp_path).run(("bash", "-ec", f"{python}{commands}{code[f'first call, {TITLES[suffix]}']}"))
    assert (done.returncode, done.stderr.decode()) == (0, "")
    assert committed_sandbox.slug in done.stdout.decode()
    assert "sandbox" in done.stdout.decode().replace(committed_sandbox.slug, "")


def test_every_step_prints_what_the_page_says(walk: Walk, sandbox: PartnerClient) -> None:
    for number, name in enumerate(STEPS, start=1):
        assert (walk.folder / f"{name}{walk.suffix}").read_text() == walk.code[f"{name}{walk.suffix}"]
        exit_status, lines, complaint = walk.run(name)
        assert (exit_status, complaint) == (0, ""), (name, lines)
        printed = "".join(f"{line}\n" for line in lines)
        assert walk.expected(number).fullmatch(printed), (name, printed)
        if name == "step11_rotate_key":
            walk.switch_key()
    user = User.objects.get(external_id=walk.settings["EXTERNAL_ID"])
    assert (user.status, user.city, user.occupation) == (Status.ACTIVE, "Ottawa", "Architect")
    assert (user.conversions.count(), user.documents.count()) == (6, 1)
    assert json.loads((walk.folder / "users.json").read_text()) == {user.external_id: "active"}
    (document,) = walk.folder.glob("*.pdf")
    assert document.read_bytes().startswith(b"%PDF-")
    (old, new) = ApiKey.objects.filter(partner=user.partner).order_by("created_at")
    assert (old.expires_at is None, new.expires_at) == (False, None)
    assert walk.settings["PSI_API_KEY"].startswith(new.prefix)
    assert not WebhookEndpoint.objects.filter(partner=user.partner, removed_at=None).exists()


def test_the_first_step_refuses_a_live_key(walk: Walk, client: PartnerClient) -> None:
    walk.settings |= {"PSI_API_KEY": client.api_key, "PSI_SECRET": client.secret}
    exit_status, lines, complaint = walk.run("step01_sign")
    assert (exit_status, lines) == (1, [])
    assert "This key is live" in complaint


def test_reconciling_names_each_difference(walk: Walk, sandbox: PartnerClient) -> None:
    for external_id in ("both", "theirs", "altered"):
        assert sandbox.post("/v1/users", factories.user_body(externalId=external_id)).status == 201
    own = {"both": "pendingCompliance", "altered": "active", "ours": "pendingCompliance"}
    (walk.folder / "users.json").write_text(json.dumps(own))
    exit_status, lines, complaint = walk.run("step13_reconcile")
    assert (exit_status, complaint) == (0, "")
    assert lines == [
        "altered: own active, service pendingCompliance",
        "ours: own pendingCompliance, service none",
        "theirs: own none, service pendingCompliance",
        "users: own 3, service 3, different 3",
    ]


def test_a_webhook_whose_receiver_is_not_trusted_is_told_and_removed(
    walk: Walk, sandbox: PartnerClient, tmp_path: Path
) -> None:
    made = Workshop(tmp_path).run(("bash", "-ec", walk.code["certificate"]), ENVIRONMENT)
    assert made.returncode == 0
    walk.settings |= {"TLS_CERT": str(tmp_path / "cert.pem"), "TLS_KEY": str(tmp_path / "key.pem")}
    exit_status, lines, _complaint = walk.run("step09_webhook")
    assert exit_status == 1
    assert lines[1:] == ["test: status none, error tlsSelfSigned", "webhook removed"]
    assert sandbox.get("/v1/sandbox/webhooks").json() == {"items": []}
