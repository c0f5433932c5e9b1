"""Makes environments: a `.env` from `.env.example`, or a stand-in for production's, for checks.

python -m config.environment .env.example > .env
python -m config.environment --deployment -- COMMAND …
"""

import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

# As the value of a setting; comments may speak of it.
PLACEHOLDER = re.compile(r"(?<==)<random>$", re.MULTILINE)
CHARACTERS = 50


def fill(example: str) -> str:
    """The text of a `.env`: each setting whose value is the placeholder gets a random value of its own."""
    return PLACEHOLDER.sub(lambda _: secrets.token_urlsafe(CHARACTERS), example)


def deployment() -> dict[str, str]:
    """Settings of a production that does not exist: for checks that only read settings."""
    return {
        "DEBUG": "false",
        "STAFF_MFA_REQUIRED": "true",
        "SECRET_KEY": secrets.token_urlsafe(CHARACTERS),
        "SECRETS_ENCRYPTION_KEYS": secrets.token_urlsafe(CHARACTERS),
        "DATABASE_URL": "postgresql://service@127.0.0.1:1/absent",
        "ALLOWED_HOSTS": "partners.invalid",
        "DOCUMENT_STORAGE_URL": "s3://documents-absent",
    }


def main(arguments: list[str]) -> int:
    """Runs as the module's docstring says; the exit status."""
    if arguments[:2] == ["--deployment", "--"]:
        return subprocess.run(arguments[2:], env=os.environ | deployment(), check=False).returncode  # noqa: S603
    sys.stdout.write(fill(Path(arguments[0]).read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
