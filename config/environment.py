"""Environments: `.env` from `.env.example`, and a stand-in for production's, for checks (Makefile)."""

import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

CHARACTERS = 50


def fill(example: str) -> str:
    """Return an example with a random value for each setting whose value is `<random>`."""
    return re.sub(r"(?<==)<random>$", lambda _: secrets.token_urlsafe(CHARACTERS), example, flags=re.MULTILINE)


def deployment() -> dict[str, str]:
    """Return production settings that name nothing real."""
    return {
        "DEBUG": "false",
        "STAFF_MFA_REQUIRED": "true",
        "SECRET_KEY": secrets.token_urlsafe(CHARACTERS),
        "SECRETS_ENCRYPTION_KEYS": secrets.token_urlsafe(CHARACTERS),
        "DATABASE_URL": "postgresql://service@127.0.0.1:1/absent",
        "ALLOWED_HOSTS": "partners.invalid",
        "DOCUMENT_STORAGE_URL": "s3://documents-absent",
    }


if __name__ == "__main__":
    if sys.argv[1:3] == ["--deployment", "--"]:
        sys.exit(subprocess.run(sys.argv[3:], env=os.environ | deployment(), check=False).returncode)  # noqa: S603
    sys.stdout.write(fill(Path(sys.argv[1]).read_text()))
