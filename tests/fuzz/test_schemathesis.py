"""Schemathesis against a live server: all its checks, on signed requests made from the description (`make fuzz`)."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings

from partners.models import Partner
from tests import factories
from tests.slow.live.conftest import Server
from tests.support.client import PartnerClient
from tests.support.events import place_events
from transactions.documents.publishing import publish
from transactions.models import DocumentType
from users.models import Status, User

HERE = Path(__file__).parent
# The example of the description: what schemathesis asks for first.
EXTERNAL_ID = "cust-1001"


@pytest.fixture
def client(servers: tuple[Server, Server], partner: Partner) -> PartnerClient:
    """A client of a partner whose user has conversions, documents and events: something to be found."""
    client = factories.client_of(partner, servers[0].transport)
    assert client.post("/v1/users", factories.user_body(externalId=EXTERNAL_ID)).status == 201
    user = User.objects.get(partner=partner, external_id=EXTERNAL_ID)
    factories.add_conversions(user, [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 29)])
    for month in ("January", "February"):
        publish(
            user=user,
            content=b"%PDF-1.4 for schemathesis %%EOF",
            kind=DocumentType.ACCOUNT_STATEMENT,
            title=f"Account statement, {month} 2026",
            content_type="application/pdf",
        )
    factories.decide(user, Status.ACTIVE)
    place_events()
    return client


def test_no_check_fails(client: PartnerClient, servers: tuple[Server, Server], tmp_path: Path) -> None:
    run = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", HERE / "schemathesis.toml"),
            *("run", Path(settings.BASE_DIR, "docs", "openapi.yaml"), "--url", f"http://127.0.0.1:{servers[0].port}"),
            # All checks: the default, which schemathesis.toml may change for some operations.
            *("--max-examples", os.environ.get("FUZZ_EXAMPLES", "30"), "--report-dir", tmp_path),
        ],
        env=os.environ
        | {"SCHEMATHESIS_HOOKS": "tests.fuzz.hooks", "PSI_API_KEY": client.api_key, "PSI_SECRET": client.secret},
        check=False,
    )
    assert run.returncode == 0
