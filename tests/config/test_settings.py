"""A bad setting stops the start with its name and the mend, in one line and without its value."""

import os
import subprocess
import sys

import pytest
from django.conf import settings

from config.environment import deployment


def start(**environment: str) -> "subprocess.CompletedProcess[str]":
    """`manage.py check` under production settings with these changed."""
    given = {k: v for k, v in os.environ.items() if k not in {"REDIS_URL", "OWNER_DATABASE_URL"}}
    return subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=settings.BASE_DIR,
        env=given | {"DJANGO_SETTINGS_MODULE": "config.settings"} | deployment() | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_production_settings_start() -> None:
    assert start().returncode == 0


@pytest.mark.parametrize(
    "url",
    [
        "file:///srv/documents",
        "file:///srv/our%20documents/",
        "s3://documents.example",
        "s3://documents/a/prefix/?region=ca-central-1&encryption=aws:kms",
        "s3://documents?endpoint=https%3A%2F%2Fminio.example%3A9000",
    ],
)
def test_documents_may_be_kept_in_a_folder_or_a_bucket(url: str) -> None:
    assert start(DOCUMENT_STORAGE_URL=url).returncode == 0


@pytest.mark.parametrize(
    ("name", "value", "mend"),
    [
        ("SECRET_KEY", "", "50 random characters"),
        ("SECRET_KEY", "django-insecure-0123456789abcdefghijklmnop", "weak or example"),
        ("SECRET_KEY", "a" * 60, "weak or example"),
        ("SECRETS_ENCRYPTION_KEYS", "", "50 random characters"),
        ("SECRETS_ENCRYPTION_KEYS", "short", "weak or example"),
        ("DATABASE_URL", "", "postgresql://"),
        ("DATABASE_URL", "sqlite:///db", "PostgreSQL"),
        ("DATABASE_URL", "nonsense", "PostgreSQL"),
        ("OWNER_DATABASE_URL", "mysql://a/b", "PostgreSQL"),
        ("PARTNER_RATE_LIMIT", "many", "600/minute"),
        ("CLOCK_SKEW_SECONDS", "0", "from 1 to 3600"),
        ("CLOCK_SKEW_SECONDS", "5m", "from 1 to 3600"),
        ("COMPLIANCE_TIME_ZONE", "Toronto", "America/Toronto"),
        ("COMPLIANCE_TIME_ZONE", "../../etc/passwd", "America/Toronto"),
        ("REDIS_URL", "localhost:6379", "redis://"),
        ("REDIS_URL", "nonsense", "redis://"),
        ("STAFF_MFA_REQUIRED", "false", "DEBUG"),
        ("PORT", "65536", "from 1 to 65535"),
        ("WEB_WORKERS", "0", "from 1 to 256"),
        ("DEBUG", "perhaps", "true or false"),
        ("DOCUMENT_STORAGE_URL", "", "s3://bucket"),
        ("DOCUMENT_STORAGE_URL", "/srv/documents", "file://"),
        ("DOCUMENT_STORAGE_URL", "https://bucket.example", "s3://"),
        ("DOCUMENT_STORAGE_URL", "file://srv/documents", "absolute folder"),
        ("DOCUMENT_STORAGE_URL", "file:///", "absolute folder"),
        ("DOCUMENT_STORAGE_URL", "file:///srv/../etc", "absolute folder"),
        ("DOCUMENT_STORAGE_URL", "file:///srv?region=x", "absolute folder"),
        ("DOCUMENT_STORAGE_URL", "s3://", "bucket"),
        ("DOCUMENT_STORAGE_URL", "s3://No_Bucket", "bucket"),
        ("DOCUMENT_STORAGE_URL", "s3://[bucket", "s3://bucket"),
        ("DOCUMENT_STORAGE_URL", "s3://key:hidden-value@bucket", "no password"),
        ("DOCUMENT_STORAGE_URL", "s3://bucket/a/../b", "prefix"),
        ("DOCUMENT_STORAGE_URL", "s3://bucket/a b", "prefix"),
        ("DOCUMENT_STORAGE_URL", "s3://bucket?acl=public-read", "region, endpoint and encryption"),
        ("DOCUMENT_STORAGE_URL", "s3://bucket?region=a&region=b", "each once"),
        ("DOCUMENT_STORAGE_URL", "s3://bucket?region=", "ca-central-1"),
        ("DOCUMENT_STORAGE_URL", "s3://bucket?endpoint=minio:9000", "https://host"),
        ("DOCUMENT_STORAGE_URL", "s3://bucket?endpoint=https://a:hidden-value@minio", "neither user nor password"),
        ("DOCUMENT_STORAGE_URL", "s3://bucket?encryption=none", "AES256"),
    ],
)
def test_a_bad_setting_is_named_with_the_mend(name: str, value: str, mend: str) -> None:
    ended = start(**{name: value})
    assert ended.returncode == 1
    lines = ended.stderr.strip().splitlines()
    assert len(lines) == 1
    assert name in lines[0]
    assert mend in lines[0]
    assert "hidden-value" not in ended.stderr


def test_a_refused_secret_is_not_repeated() -> None:
    assert "0123456789abc" not in start(SECRET_KEY="django-insecure-0123456789abcdefghijklmnop").stderr
