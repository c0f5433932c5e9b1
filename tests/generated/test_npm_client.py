"""A client of npm packages, with types generated from the OpenAPI document, walks the sandbox."""

import shutil
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from partners.models import Mode, Partner
from tests import factories
from tests.examples.languages import ENVIRONMENT, require, require_npm_packages
from tests.slow.live.conftest import Server
from tests.support.timeouts import WAIT_SECONDS

DOCS = Path(settings.BASE_DIR, "docs")
CLIENT = Path(settings.BASE_DIR, "clients", "node", "psi.mjs")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled program."""
    require("node")
    folder = tmp_path_factory.mktemp("npm")
    require_npm_packages(folder)
    (folder / "package.json").write_text('{"type": "module"}')
    for source in (Path(__file__).parent / "walk.ts", CLIENT):
        shutil.copy(source, folder)
    run(folder, "node_modules/openapi-typescript/bin/cli.js", str(DOCS / "openapi.yaml"), "-o", "types.ts")
    strict = ("--strict", "--allowJs", "--checkJs", "false", "--skipLibCheck", "--types", "node")
    modules = ("--module", "nodenext", "--target", "es2022", "--lib", "es2023,dom", "--outDir", "built")
    run(folder, "node_modules/typescript/bin/tsc", *strict, *modules, "walk.ts")
    shutil.copy(CLIENT, folder / "built")
    return folder


def run(folder: Path, *command: str, **environment: str) -> str:
    """Runs a Node.js program; returns what it printed."""
    done = subprocess.run(
        ["node", *command],
        cwd=folder,
        env=ENVIRONMENT | environment,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_walks_the_sandbox(program: Path, servers: tuple[Server, Server], partner: Partner, relay: None) -> None:
    sandbox = factories.PartnerFactory.create(slug=f"{partner.slug}-sandbox", mode=Mode.SANDBOX)
    client = factories.client_of(sandbox, servers[0].transport)
    key = {"PSI_API_KEY": client.api_key, "PSI_SECRET": client.secret}
    printed = run(program, "built/walk.js", PSI_BASE_URL=f"http://127.0.0.1:{servers[0].port}", **key)
    assert printed == "walked\n"
