"""A bad setting stops the start with one line: the name of the variable and what to set, never its value."""

import ast
import base64
import json
import os
import pickle
import re
import runpy
import ssl
import subprocess
import sys
from collections import ChainMap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from config.environment import deployment, fill
from config.setting_types import Env

ROOT = Path(settings.BASE_DIR)
SETTINGS = ROOT / "config" / "settings.py"
MANAGE = ("manage.py", "check")
SERVE = ("-m", "config.serve")
# Overrides the values of this machine and its `.env`.
UNSET = dict.fromkeys(
    (
        "REDIS_URL",
        "OWNER_DATABASE_URL",
        "SECRET_KEY_FALLBACKS",
        "CSRF_TRUSTED_ORIGINS",
        "WEBHOOK_CA_BUNDLE",
        "EVIDENCE_SIGNING_KEY",
        *(f"STAFF_OIDC_{name}" for name in ("ISSUER", "CLIENT_ID", "CLIENT_SECRET", "NAME")),
        *(f"STAFF_OIDC_{name}" for name in ("ROLES", "ROLES_CLAIM", "MFA_VALUES")),
    ),
    "",
)
A_KEY = "tests-only-0123456789-abcdefghijklmnopqrstuvwxyz-01"
A_ROLE = "postgresql://psi:hidden-value@db/psi"
ANOTHER_KEY = "tests-only-9876543210-abcdefghijklmnopqrstuvwxyz-01"


@pytest.fixture(autouse=True)
def logs_stay_as_they_are() -> Iterator[None]:
    """Running the settings again would reconfigure this process's logging."""
    with patch("config.logs.configure"):
        yield


def settings_with(**environment: str) -> dict[str, Any]:
    """The settings of production with these values."""
    with patch.dict(os.environ, deployment() | UNSET | environment):
        return runpy.run_path(str(SETTINGS))


def start(*command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """A command under production settings with these changed."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"} | deployment() | UNSET | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def signing_keys() -> Iterator[str]:
    """One key in each form."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    yield from (pem, pem.replace("\n", "\\n"))
    yield base64.b64encode(key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())).decode()
    yield base64.b64encode(key.private_bytes_raw()).decode()


def a_key_of_another_kind() -> str:
    key = ec.derive_private_key(7, ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


VALID: list[dict[str, str]] = [
    {"DOCUMENT_STORAGE_URL": "file:///srv/documents"},
    {"DOCUMENT_STORAGE_URL": "file:///srv/our%20documents/"},
    {"DOCUMENT_STORAGE_URL": "s3://documents.example"},
    {"DOCUMENT_STORAGE_URL": "s3://documents/a/prefix/?region=ca-central-1&encryption=aws:kms"},
    {"DOCUMENT_STORAGE_URL": "s3://documents?endpoint=https%3A%2F%2Fminio.example%3A9000"},
    {"SECRET_KEY_FALLBACKS": A_KEY, "SECRETS_ENCRYPTION_KEYS": f"{ANOTHER_KEY},older-{ANOTHER_KEY}"},
    {"OWNER_DATABASE_URL": "postgresql://owner@127.0.0.1:1/absent"},
    {"ALLOWED_HOSTS": ".example.com,10.0.0.7,[::1]", "HOST": "::", "CSRF_TRUSTED_ORIGINS": "https://*.example.com"},
    {"REDIS_URL": "rediss://:hidden-value@redis.example:6380/1"},
    {"WEBHOOK_CA_BUNDLE": ssl.get_default_verify_paths().cafile or "", "WEBHOOK_ALLOW_LOOPBACK": "false"},
    *({"EVIDENCE_SIGNING_KEY": text} for text in signing_keys()),
    {
        "STAFF_OIDC_ISSUER": "https://login.example.com/realms/staff",
        "STAFF_OIDC_CLIENT_ID": "partner-service",
        "STAFF_OIDC_CLIENT_SECRET": "hidden-value",
        "STAFF_OIDC_NAME": "Company",
        "STAFF_OIDC_ROLES": "/compliance=reviewer,0f3c-11=auditor",
        "STAFF_OIDC_ROLES_CLAIM": "groups",
        "STAFF_OIDC_MFA_VALUES": "mfa,https://refeds.org/profile/mfa",
        "STAFF_PASSWORD_LOGIN": "false",
    },
]


@pytest.mark.parametrize("environment", VALID, ids=str)
def test_valid_production_settings_are_accepted(environment: dict[str, str]) -> None:
    assert settings_with(**environment)["DEBUG"] is False


def test_roles_of_groups_with_commas_are_json() -> None:
    roles = '{"CN=Compliance,OU=Staff": "reviewer", "audit": "auditor"}'
    assert settings_with(**VALID[-1] | {"STAFF_OIDC_ROLES": roles})["STAFF_OIDC_ROLES"] == json.loads(roles)


@pytest.mark.parametrize(("name", "alias"), [("DATABASE_URL", "default"), ("OWNER_DATABASE_URL", "owner")])
def test_of_several_hosts_the_primary_is_asked_for(name: str, alias: str) -> None:
    url = f"postgresql://a:b%40c@one:5432,two:6432/psi{'?sslmode=require' if alias == 'default' else ''}"
    found = settings_with(**{name: url})["DATABASES"][alias]
    assert (found["HOST"], found["PORT"], found["PASSWORD"]) == ("one,two", "5432,6432", "b@c")
    assert found["OPTIONS"]["target_session_attrs"] == "read-write"


def test_a_migration_has_its_lock_timeout_by_pgoptions() -> None:
    urls = {"OWNER_DATABASE_URL": "postgresql://owner@127.0.0.1/psi", "PGOPTIONS": "-c lock_timeout=3s"}
    options = settings_with(**urls)["DATABASES"]["owner"]["OPTIONS"]["options"]
    assert options == "-c datestyle=ISO -c lock_timeout=3s"


def test_production_has_short_timeouts() -> None:
    default = settings_with()["DATABASES"]["default"]
    assert (default["RESPONSE_SECONDS"], default["OPTIONS"]["connect_timeout"]) == (4.5, 2)
    assert "-c statement_timeout=4s -c lock_timeout=3s" in default["OPTIONS"]["options"]


def test_a_role_that_the_url_names_is_kept_and_one_host_is_asked_for_none() -> None:
    urls = {
        "DATABASE_URL": "postgresql://a@one,two/psi?target_session_attrs=primary",
        "OWNER_DATABASE_URL": "postgresql://b@three/psi",
    }
    databases = settings_with(**urls)["DATABASES"]
    assert databases["default"]["OPTIONS"]["target_session_attrs"] == "primary"
    assert "target_session_attrs" not in databases["owner"]["OPTIONS"]


def test_production_passes_the_deployment_check_with_all_valid_values() -> None:
    """The first of several values of one variable; `make lint` has those of `deployment()`."""
    ended = start(*MANAGE, "--deploy", "--fail-level", "WARNING", **ChainMap(*VALID))
    assert (ended.returncode, ended.stdout) == (0, "System check identified no issues (0 silenced).\n"), ended.stderr


@pytest.mark.parametrize(("environment", "preloads"), [({}, True), ({"SECURE_HSTS_PRELOAD": "false"}, False)])
def test_preloading_of_hsts_can_be_turned_off(environment: dict[str, str], preloads: bool) -> None:  # noqa: FBT001
    assert settings_with(**environment)["SECURE_HSTS_PRELOAD"] is preloads


def test_the_cache_in_redis_runs_no_code() -> None:
    options = settings_with(REDIS_URL="redis://redis.example")["CACHES"]["default"]["OPTIONS"]
    with pytest.raises(ValueError, match="Expecting value"):
        import_string(options["serializer"])().loads(pickle.dumps([1]))


# Setting, bad value, part of the message; and the other settings that make it bad.
CASES: list[tuple[str, str, str, dict[str, str]]] = [
    (*case, {})
    for case in [
        ("SECRET_KEY", "", "50 random characters"),
        ("SECRET_KEY", "django-insecure-0123456789abcdefghijklmnop", "weak or example"),
        ("SECRET_KEY", "a" * 60, "weak or example"),
        ("SECRETS_ENCRYPTION_KEYS", "", "50 random characters"),
        ("SECRETS_ENCRYPTION_KEYS", "short", "weak or example"),
        ("DATABASE_URL", "", "postgresql://"),
        ("DATABASE_URL", "sqlite:///db", "PostgreSQL"),
        ("DATABASE_URL", "nonsense", "PostgreSQL"),
        ("DATABASE_URL", "postgresql://a@[::1/db", "PostgreSQL"),
        ("DATABASE_URL", "postgresql://a@one:5432,two:hidden-value/db", "host1:5432,host2:5432"),
        ("DATABASE_URL", "postgresql://a@one,two/db?target_session_attrs=hidden-value", "target_session_attrs"),
        ("DATABASE_URL", "postgresql://a:hidden-value@/db?host=a,b,c&port=1,2", "host1:5432,host2:5432"),
        ("DATABASE_URL", "postgresql://a@b/db?hidden-value=1", "may be libpq's host"),
        ("DATABASE_URL", "postgresql://a@b/db?pool=true", "may be libpq's host"),
        ("DATABASE_URL", "postgresql://a@b/db?sslmode=bogus", "may be libpq's host"),
        ("DATABASE_URL", "postgresql://a@b/db?connect_timeout=1", "may be libpq's host"),
        ("OWNER_DATABASE_URL", "mysql://a/b", "PostgreSQL"),
        ("DATABASE_URL", "postgresql://a:hidden-value@1@db/psi", "percent-encoded"),
        ("DATABASE_URL", "postgresql://a:hidden-value/1@db/psi", "percent-encoded"),
        ("OWNER_DATABASE_URL", "postgresql://a:hidden-value%1@db1,db2/psi", "percent-encoded"),
        ("REDIS_URL", "redis://:hidden-value#1@redis.example:6379/0", "percent-encoded"),
        ("REDIS_URL", "redis://:hidden-value/1@redis.example:6379/0", "percent-encoded"),
        ("PARTNER_RATE_LIMIT", "many", "600/minute"),
        ("CLOCK_SKEW_SECONDS", "0", "from 1 to 3600"),
        ("CLOCK_SKEW_SECONDS", "5m", "from 1 to 3600"),
        ("RETENTION_YEARS", "4", "from 5 to 50"),
        ("RETENTION_YEARS", "51", "from 5 to 50"),
        ("COMPLIANCE_TIME_ZONE", "Toronto", "America/Toronto"),
        ("COMPLIANCE_TIME_ZONE", "../../etc/passwd", "America/Toronto"),
        ("REDIS_URL", "localhost:6379", "redis://"),
        ("REDIS_URL", "nonsense", "redis://"),
        ("REDIS_URL", "redis://127.0.0.1:99999/0", "redis://"),
        ("REDIS_URL", "redis://127.0.0.1:port/0", "redis://"),
        ("REDIS_URL", "redis://127.0.0.1:6379/0?foo=1", "redis://"),
        ("REDIS_URL", "redis://127.0.0.1:6379/0?socket_timeout=abc", "redis://"),
        ("STAFF_MFA_REQUIRED", "false", "DEBUG"),
        ("SECURE_HSTS_PRELOAD", "no", "true or false"),
        ("PORT", "65536", "from 1 to 65535"),
        ("EVIDENCE_SIGNING_KEY", "hidden-value", "Ed25519 private key"),
        ("EVIDENCE_SIGNING_KEY", "aGlkZGVuLXZhbHVl", "Ed25519 private key"),
        ("EVIDENCE_SIGNING_KEY", "-----BEGIN PRIVATE KEY-----", "Ed25519 private key"),
        ("EVIDENCE_SIGNING_KEY", a_key_of_another_kind(), "Ed25519 private key"),
        ("WEBHOOK_CA_BUNDLE", "/srv/absent.pem", "readable PEM file"),
        ("WEBHOOK_CA_BUNDLE", "/srv", "readable PEM file"),
        ("WEBHOOK_CA_BUNDLE", str(ROOT / "README.md"), "PEM file of certificates"),
        ("WEBHOOK_ALLOW_LOOPBACK", "true", "DEBUG"),
        ("WEBHOOK_ALLOW_LOOPBACK", "yes", "true or false"),
        ("DEBUG", "perhaps", "true or false"),
        ("DOCUMENT_STORAGE_URL", "", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "/srv/documents", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "https://bucket.example", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "file://srv/documents", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "file:///", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "file:///srv/../etc", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "file:///srv?region=x", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "s3://", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "s3://No_Bucket", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "s3://[bucket", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "s3://key:hidden-value@bucket", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "s3://bucket/a/../b", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "s3://bucket/a b", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "s3://bucket?acl=public-read", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "s3://bucket?region=a&region=b", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "s3://bucket?region=", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "s3://bucket?endpoint=minio:9000", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "s3://bucket?endpoint=https://a:hidden-value@minio", "s3://bucket/prefix"),
        ("DOCUMENT_STORAGE_URL", "s3://bucket?encryption=none", "s3://bucket/prefix"),
        ("ALLOWED_HOSTS", "", "partners.example.com"),
        ("ALLOWED_HOSTS", "*", "without scheme, port and *"),
        ("ALLOWED_HOSTS", "https://partners.example.com", "without scheme"),
        ("ALLOWED_HOSTS", "partners.example.com:8000", "without scheme, port"),
        ("CSRF_TRUSTED_ORIGINS", "partners.example.com", "https://partners.example.com"),
        ("CSRF_TRUSTED_ORIGINS", "http://partners.example.com", "https://partners.example.com"),
        ("CSRF_TRUSTED_ORIGINS", "https://partners.example.com/admin/", "without a path"),
        ("COMPLIANCE_TARGET_HOURS", "0", "from 1 to 8760"),
        ("COMPLIANCE_TARGET_HOURS", "soon", "from 1 to 8760"),
        ("HOST", "", "such as 127.0.0.1"),
        ("HOST", "0.0.0.0:8000", "such as 127.0.0.1"),
        ("HOST", "http://localhost", "such as 127.0.0.1"),
        ("PORT", "0", "from 1 to 65535"),
        ("SECRET_KEY", f" {A_KEY}", "spaces"),
        ("SECRETS_ENCRYPTION_KEYS", f"{A_KEY}, {ANOTHER_KEY}", "spaces"),
        ("SECRETS_ENCRYPTION_KEYS", f"{A_KEY},short", "weak or example"),
        ("SECRETS_ENCRYPTION_KEYS", f"{A_KEY},{A_KEY}", "repeats"),
        ("SECRET_KEY_FALLBACKS", "changeme", "weak or example"),
        ("SECRET_KEY_FALLBACKS", f"{A_KEY},{A_KEY}", "repeats"),
        ("DATABASE_URL", "postgresql://a:hidden-value@b:port/c", "postgresql://user@host/name"),
        ("DATABASE_URL", "postgresql://service@host/", "PostgreSQL"),
        ("STAFF_MFA_REQUIRED", "yes", "true or false"),
        ("PARTNER_RATE_LIMIT", "0/minute", "600/minute"),
        ("STAFF_OIDC_ISSUER", "http://login.example.com", "discovery document"),
        ("STAFF_OIDC_ISSUER", "https://login.example.com/?tenant=1", "discovery document"),
        ("STAFF_OIDC_ISSUER", "https://login.microsoftonline.com/common/v2.0", "the id of your tenant"),
        ("STAFF_OIDC_ISSUER", "https://login.microsoftonline.com/Organizations/v2.0", "the id of your tenant"),
        ("STAFF_OIDC_ISSUER", "https://login.microsoftonline.us/consumers", "the id of your tenant"),
        ("STAFF_OIDC_ISSUER", f"https://login.example.com/{'x' * 150}", "discovery document"),
        ("STAFF_OIDC_ISSUER", "https://login.example.com", "all of STAFF_OIDC_ISSUER"),
        ("STAFF_OIDC_CLIENT_ID", "partner-service", "all of STAFF_OIDC_ISSUER"),
        ("STAFF_OIDC_CLIENT_SECRET", "hidden-value", "all of STAFF_OIDC_ISSUER"),
        ("STAFF_OIDC_NAME", "Company", "all of STAFF_OIDC_ISSUER"),
        ("STAFF_OIDC_ROLES_CLAIM", "roles", "all of STAFF_OIDC_ISSUER"),
        ("STAFF_OIDC_ROLES", "compliance", "group=role"),
        ("STAFF_OIDC_ROLES", "compliance=owner", "partner-manager"),
        ("STAFF_OIDC_ROLES", "compliance=viewer,compliance=auditor", "each group once"),
        ("STAFF_OIDC_ROLES", "compliance=superuser", "group=role"),
        ("STAFF_OIDC_ROLES", '{"CN=Compliance,OU=Staff": "owner"}', "group=role"),
        ("STAFF_OIDC_ROLES", '{"a": "viewer", "a": "auditor"}', "each group once"),
        ("STAFF_OIDC_ROLES", '{"a": ', "JSON"),
        ("STAFF_OIDC_MFA_VALUES", "mfa,two factors", "amr"),
        ("STAFF_PASSWORD_LOGIN", "no", "true or false"),
        ("STAFF_PASSWORD_LOGIN", "false", "all of STAFF_OIDC_ISSUER"),
        ("DEBUG", "1", "true or false"),
        ("PORT", "http", "from 1 to 65535"),
    ]
] + [
    ("SECRETS_ENCRYPTION_KEYS", A_KEY, "a value of SECRET_KEY", {"SECRET_KEY": A_KEY}),
    ("SECRET_KEY_FALLBACKS", A_KEY, "a value of SECRET_KEY", {"SECRET_KEY": A_KEY}),
    ("SECRET_KEY_FALLBACKS", A_KEY, "a value of SECRETS_E", {"SECRETS_ENCRYPTION_KEYS": f"{ANOTHER_KEY},{A_KEY}"}),
    ("OWNER_DATABASE_URL", A_ROLE, "a role of its own", {"DATABASE_URL": A_ROLE}),
    # Only DEBUG makes DATABASE_URL optional.
    ("DATABASE_URL", "", "DEBUG=true", {"OWNER_DATABASE_URL": "postgresql://owner@db/psi"}),
]


@pytest.mark.parametrize(("name", "value", "message", "others"), CASES)
def test_a_bad_setting_is_named_with_what_to_set(name: str, value: str, message: str, others: dict[str, str]) -> None:
    with pytest.raises(ImproperlyConfigured) as refused:
        settings_with(**{name: value} | others)
    line = str(refused.value)
    assert line.startswith(f"{name}: ")
    assert message in line
    assert "\n" not in line
    assert not any(secret in line for secret in ("hidden-value", A_KEY, ANOTHER_KEY))


# Values that any text can be; the others are refused as they are written.
TEXTS = {"SECRET_KEY", "SECRETS_ENCRYPTION_KEYS", "SECRET_KEY_FALLBACKS"}


@pytest.mark.parametrize("name", sorted({name for name, *_ in CASES}))
def test_a_value_that_begins_with_a_dollar_is_what_is_written(name: str) -> None:
    """It is not the value of another variable."""
    valid = next((value[name] for value in VALID if name in value), deployment().get(name, "true"))
    with pytest.raises(ImproperlyConfigured) as refused:
        settings_with(**{"ANOTHER": valid, name: "$ANOTHER"})
    assert str(refused.value).startswith(f"{name}: ")
    assert "not set" not in str(refused.value)
    if name in TEXTS:
        value = f"$ANOTHER${A_KEY}"
        assert value in str(settings_with(**{"ANOTHER": valid, name: value})[name])


def test_a_dollar_in_env_is_kept_in_each_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("A=true\nB=$A\nC=$A,$$,\\$A\nD='$A'\nE=a$A\nF=\n")
    monkeypatch.setattr(Env, "ENVIRON", {})
    env = Env()
    env.read_env(tmp_path / ".env")
    assert (env("B", cast=str, default=""), env("D", cast=str, default=""), env("E", default="")) == ("$A", "$A", "a$A")
    assert env.list("C", cast=str, default=[]) == ["$A", "$$", "\\$A"]
    assert (env("F", default=""), env("G", default=7), env.bool("A", default=False)) == ("", 7, True)
    with pytest.raises(ImproperlyConfigured, match="B: set it to true or false"):
        env.bool("B", default=False)


@pytest.mark.parametrize("command", [MANAGE, SERVE], ids=str)
def test_a_bad_setting_stops_every_start_with_one_line(command: tuple[str, ...]) -> None:
    ended = start(*command, SECRET_KEY="django-insecure-0123456789abcdefghijklmnop")
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert "SECRET_KEY: weak or example value; set it to 50 random characters" in line
    assert "0123456789abc" not in line


def settings_read() -> Iterator[str]:
    """The names of all variables that the settings read, from their source."""
    for node in ast.walk(ast.parse(SETTINGS.read_text())):
        match node:
            case ast.Call(
                func=ast.Name("env") | ast.Attribute(value=ast.Name("env")), args=[ast.Constant(str(name)), *_]
            ):
                yield name


def test_every_setting_has_a_bad_value_here() -> None:
    read = set(settings_read())
    assert {"DEBUG", "DATABASE_URL"} < read
    assert read == {name for name, *_ in CASES}


def test_the_example_for_deployment_has_valid_values_and_none_of_the_owner() -> None:
    lines = (ROOT / "deploy" / "environment.example").read_text().splitlines()
    # With a filling in place of what is to be replaced, and without CA bundles of another machine.
    example = dict(line.removeprefix("#").split("=", 1) for line in lines if re.match(r"#?[A-Z_]+=", line))
    del example["WEBHOOK_CA_BUNDLE"]
    filled = {name: value for name, value in example.items() if "<random>" not in value}
    filled |= {"EVIDENCE_SIGNING_KEY": next(signing_keys()), "SECRET_KEY_FALLBACKS": ANOTHER_KEY}
    assert settings_with(**filled)["DATABASES"].keys() == {"default"}


# A generated `.env`


def test_each_placeholder_gets_its_own_random_value_and_comments_are_unchanged() -> None:
    example = (ROOT / ".env.example").read_text().splitlines()
    filled = fill("\n".join(example)).splitlines()
    values = [line.partition("=")[2] for line in filled if "=" in line and line[0] != "#"]
    assert len(set(values)) == len(values) == 3
    assert "<random>" not in values
    assert [line for line in filled if line.startswith("#")] == [line for line in example if line.startswith("#")]


@pytest.mark.parametrize("file", ["docs/operations.md", ".env.example", "deploy/environment.example"])
def test_every_setting_is_documented(file: str) -> None:
    text = (ROOT / file).read_text()
    line = r"^\W*([A-Z_`, ]*\W)?{}\b"
    assert [name for name in set(settings_read()) if not re.search(line.format(name), text, re.MULTILINE)] == []
