"""Deliveries, verified by packages of npm that nobody here wrote: contract, section 10."""

import json
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from partners.models import Partner
from partners.webhooks import endpoints
from partners.webhooks.delivering import send_test
from partners.webhooks.sending import attempt_headers
from tests.examples.languages import require, require_npm_packages
from tests.support.receiver import Receiver

DRIVER = Path(__file__).with_name("verify.mjs")


@pytest.mark.parametrize("package", ["standardwebhooks", "svix"])
def test_deliveries_are_verified_under_both_secrets(
    committed_partner: Partner, receiver: Receiver, add_endpoint: Any, tmp_path: Path, package: str
) -> None:
    require("node")
    require_npm_packages(tmp_path)
    endpoint, old = add_endpoint(committed_partner, receiver)
    new = endpoints.rotate_secret(endpoint)
    assert send_test(endpoint=endpoint).status == 204
    (request,) = receiver.requests
    body = request.body.decode()
    sent: dict[str, Any] = {"headers": request.headers, "body": body}
    past = datetime.now(UTC) - timedelta(minutes=6)
    late = attempt_headers(event_id=uuid4(), at=past, body=body, secrets=[new])
    altered = body.replace("webhookId", "webhookID")

    results = verified(
        tmp_path,
        package,
        [
            {"secret": new, **sent},
            {"secret": old, **sent},
            {"secret": "whsec_" + "A" * 43 + "=", **sent},
            {"secret": new, "headers": request.headers, "body": altered},
            {"secret": new, "headers": late, "body": body},
        ],
    )
    assert results == [True, True, False, False, False]


def verified(folder: Path, package: str, requests: list[dict[str, Any]]) -> list[bool]:
    driver = shutil.copy(DRIVER, folder)
    done = subprocess.run(
        ["node", driver, package], input=json.dumps(requests).encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    results: list[bool] = json.loads(done.stdout)
    return results
