"""A real provider of OpenID Connect on loopback, with Node.js and the packages of tests/npm."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests

from tests.examples.languages import require_node, require_npm_packages
from tests.support.timeouts import WAIT_SECONDS

CLIENT_ID, CLIENT_SECRET = "partner-service", "a secret of the tests"


class OidcProvider:
    """The running provider, and what is to happen at it."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.person: dict[str, Any] = {}

    def say(self, **what: Any) -> None:
        """Change who signs in there next (`person`), or what is to be wrong (tests/support/oidc_provider.mjs)."""
        self.person = what.setdefault("person", self.person)
        requests.post(f"{self.issuer}/test", data=json.dumps(what), timeout=WAIT_SECONDS).raise_for_status()

    def visit(self, url: str) -> str:
        """Sign in as the person; returns where the browser is sent in the end, without going there."""
        browser = requests.Session()
        while url.startswith(self.issuer):
            response = browser.get(url, allow_redirects=False, timeout=WAIT_SECONDS)
            assert response.is_redirect, response.text
            url = urljoin(url, response.headers["Location"])
        return url


@contextmanager
def started(folder: Path, *redirect_uris: str, **environment: str) -> Iterator[OidcProvider]:
    """Start the provider for as long as the block lasts; skips the test where Node.js or its packages are not there."""
    require_node(20)
    require_npm_packages(folder)
    program = shutil.copy(Path(__file__).with_suffix(".mjs"), folder)
    environment |= {"REDIRECT_URIS": " ".join(redirect_uris), "CLIENT_SECRET": CLIENT_SECRET}
    path = {"PATH": str(Path(shutil.which("node") or "").parent)}
    with subprocess.Popen(["node", program], env=environment | path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        issuer = process.stdout.readline().strip()
        assert urlsplit(issuer).port, issuer
        yield OidcProvider(issuer)
        process.kill()
