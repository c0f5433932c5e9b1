"""The samples of the reference, run as they are shown, beside the client of their language."""

import re
import sys
from pathlib import Path

import pytest
from django.conf import settings

from tests.examples.calling import Access
from tests.examples.languages import BASH, NODE, PYTHON, Workshop
from tests.support.client import PartnerClient
from users.models import User

PAGES = Path(settings.BASE_DIR) / "docs_site" / "pages" / "reference"
# Program, and what shows the response where the sample does not.
PROGRAMS = {
    "Python": (PYTHON, sys.executable, "py", "\nprint(response.text)"),
    "Node.js": (NODE, "node", "mjs", "\nconsole.log(await response.text());"),
    "Bash": (BASH, "bash", "sh", ""),
}

pytestmark = pytest.mark.parametrize("language", PROGRAMS)


def run(place: Workshop, access: Access, language: str, operation: str) -> str:
    """What the response of an operation's sample is."""
    needed, program, suffix, ending = PROGRAMS[language]
    written = "".join(path.read_text() for path in PAGES.glob("*.md"))
    section = written.partition(f"({operation})=")[2].partition(f":sync: {language}\n")[2]
    sample = re.match(r"```\w+\n(.*?)\n```", section, re.DOTALL)
    assert sample
    name = f"sample.{suffix}"
    (place.built(needed).folder / name).write_text(sample[1] + ending)
    done = place.run((program, name), access.environment())
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_a_user_is_created(place: Workshop, access: Access, language: str, client: PartnerClient) -> None:
    assert '"pendingCompliance"' in run(place, access, language, "createUser")
    assert client.get("/v1/users/cust-1001").status == 200


@pytest.mark.parametrize(
    ("operation", "expected"),
    [("ping", "live"), ("getUser", "cust-1001"), ("listUsers", "cust-1001"), ("updateUser", "cust-1001")],
)
def test_a_sample_succeeds(
    place: Workshop, access: Access, language: str, operation: str, expected: str, user: User
) -> None:
    assert f'"{expected}"' in run(place, access, language, operation)
