"""Postman's own importer and runner on the sandbox, with the scripts of the page about Postman."""

import json
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from config.description import openapi_json
from partners.models import ApiKey, Mode, Partner
from portal.reference import postman
from tests import factories
from tests.examples.languages import ENVIRONMENT, require, require_npm_packages
from tests.live.conftest import Server
from tests.support.timeouts import WAIT_SECONDS

DESCRIPTION: dict[str, Any] = json.loads(openapi_json())
# They end what the run itself uses, and wait for the variable allowRotation.
GUARDED = {"Rotate your API key", "Rotate the secret of a webhook", "Revoke another of your API keys"}
# Its host has no address here; and without it nobody can remove or test one.
WITHOUT_NETWORK = {"Add a webhook", "Remove a webhook", "Send a test to a webhook"}
# In the order of the paths the answer comes after the requirement's closing, and so it is a write without effect.
TOO_LATE = {"Answer a requirement with a note", "Learn whether a write has happened"}


def run(folder: Path, server: Server, **credentials: str) -> dict[str, Any]:
    """Runs the collection twice; returns what postman.cjs writes."""
    require("node")
    require_npm_packages(folder)
    (folder / "postman.cjs").write_text(Path(__file__).with_name("postman.cjs").read_text())
    given = {
        "description": DESCRIPTION,
        "sign": postman.SIGN.read_text(),
        "remember": postman.REMEMBER.read_text(),
        "variables": {"baseUrl": f"http://127.0.0.1:{server.port}"} | credentials,
    }
    done = subprocess.run(
        ["node", "postman.cjs"],
        cwd=folder,
        env=ENVIRONMENT,
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=2 * WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_whole_collection_runs_twice_and_its_key_lives(
    tmp_path: Path, servers: tuple[Server, Server], partner: Partner, relay: None
) -> None:
    sandbox = factories.PartnerFactory.create(slug=f"{partner.slug}-sandbox", mode=Mode.SANDBOX)
    client = factories.client_of(sandbox, servers[0].transport)
    done = run(tmp_path, servers[0], apiKey=client.api_key, secret=client.secret)

    assert done["failures"] == []
    statuses = defaultdict[str, list[int]](list)
    for response in done["responses"]:
        statuses[response["name"]].append(response["status"])
        assert response["status"] in {200, 201, 204, 404, 409} or response["name"] in WITHOUT_NETWORK, response
    operations = {one["summary"] for path in DESCRIPTION["paths"].values() for one in path.values()}
    assert operations - statuses.keys() == GUARDED
    # What the first round could not find, as nothing had been made, the second one finds.
    for name in statuses.keys() - WITHOUT_NETWORK - TOO_LATE:
        assert any(status < 300 for status in statuses[name]), name
    assert ApiKey.objects.get(partner=sandbox, revoked_at=None, expires_at=None).prefix in client.api_key


@pytest.mark.parametrize("name", sorted(GUARDED | WITHOUT_NETWORK | TOO_LATE))
def test_what_is_left_out_is_an_operation(name: str) -> None:
    assert name in {one["summary"] for path in DESCRIPTION["paths"].values() for one in path.values()}
