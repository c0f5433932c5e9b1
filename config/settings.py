"""Settings, from the environment or `.env`. docs/operations.md explains each variable.

A bad value stops the start with the variable's name and what to set.
"""

import os
import warnings
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

from config import logs, unfold
from config.document_storage import document_storage_setting
from config.embedded.server import OWNER_ROLE, SERVICE_ROLE, EmbeddedServer
from config.settings_checks import (
    hosts_setting,
    listen_setting,
    origins_setting,
    rate_setting,
    redis_setting,
    require_different,
    require_two_roles,
    required,
    secret_list,
    secret_setting,
    staff_mfa_setting,
    switch,
    time_zone_setting,
    whole_number,
)

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
env.read_env(BASE_DIR / ".env")

DEBUG = switch("DEBUG", env.str("DEBUG", default="false"))
SECRET_KEY = secret_setting("SECRET_KEY", env.str("SECRET_KEY", default=""), debug=DEBUG)
# Newest first: the first encrypts, all decrypt.
SECRETS_ENCRYPTION_KEYS = secret_list(
    "SECRETS_ENCRYPTION_KEYS", env.list("SECRETS_ENCRYPTION_KEYS", default=[]) or [""], debug=DEBUG
)
# What sessions may still be signed with, while SECRET_KEY is being replaced.
SECRET_KEY_FALLBACKS = secret_list("SECRET_KEY_FALLBACKS", env.list("SECRET_KEY_FALLBACKS", default=[]), debug=DEBUG)
require_different(
    {
        "SECRET_KEY": [SECRET_KEY],
        "SECRETS_ENCRYPTION_KEYS": SECRETS_ENCRYPTION_KEYS,
        "SECRET_KEY_FALLBACKS": SECRET_KEY_FALLBACKS,
    }
)

_local_names = ["localhost", "127.0.0.1", "[::1]"]
ALLOWED_HOSTS = hosts_setting(
    "ALLOWED_HOSTS", env.list("ALLOWED_HOSTS", default=_local_names if DEBUG else []), debug=DEBUG
)

# What partners meet
PARTNER_RATE_LIMIT = rate_setting("PARTNER_RATE_LIMIT", env.str("PARTNER_RATE_LIMIT", default="600/minute"))
CLOCK_SKEW_SECONDS = whole_number(
    "CLOCK_SKEW_SECONDS", env.str("CLOCK_SKEW_SECONDS", default="300"), lowest=1, highest=3600
)
COMPLIANCE_TIME_ZONE = time_zone_setting(
    "COMPLIANCE_TIME_ZONE", env.str("COMPLIANCE_TIME_ZONE", default="America/Toronto")
)
REDIS_URL = redis_setting("REDIS_URL", env.str("REDIS_URL", default=""))

# Serving
HOST = listen_setting("HOST", env.str("HOST", default="127.0.0.1"))
PORT = whole_number("PORT", env.str("PORT", default="8000"), lowest=1, highest=65535)
WEB_WORKERS = whole_number(
    "WEB_WORKERS", env.str("WEB_WORKERS", default=str(os.cpu_count() or 1)), lowest=1, highest=256
)
# The back office, the docs and static files, answered by a process of their own; 0 is none: PORT has them all.
STAFF_PORT = whole_number("STAFF_PORT", env.str("STAFF_PORT", default="0"), lowest=0, highest=65535)
# Health and metrics, for this machine alone unless it says otherwise; 0 is none.
INTERNAL_HOST = listen_setting("INTERNAL_HOST", env.str("INTERNAL_HOST", default="127.0.0.1"))
INTERNAL_PORT = whole_number("INTERNAL_PORT", env.str("INTERNAL_PORT", default="9464"), lowest=0, highest=65535)
require_different(
    {
        name: [str(port)]
        for name, port in {"PORT": PORT, "STAFF_PORT": STAFF_PORT, "INTERNAL_PORT": INTERNAL_PORT}.items()
        if port
    }
)

_local_origins = [f"http://{name}:{port}" for name in _local_names for port in (PORT, STAFF_PORT) if port]
CSRF_TRUSTED_ORIGINS = origins_setting(
    "CSRF_TRUSTED_ORIGINS", env.list("CSRF_TRUSTED_ORIGINS", default=_local_origins if DEBUG else []), debug=DEBUG
)

# The database. `default` serves under a role that can alter neither history nor the schema;
# `owner`, which migrates, need not be configured where the service runs.
_embedded = EmbeddedServer(BASE_DIR / ".local" / "postgres")
_database_url = env.str("DATABASE_URL", default="")
_owner_url = env.str("OWNER_DATABASE_URL", default="")
if not _database_url:
    required(
        "DATABASE_URL", _embedded if DEBUG else None, "set it to postgresql://…: the embedded server is for DEBUG=true"
    )
    _database_url, _owner_url = _embedded.url(SERVICE_ROLE), _owner_url or _embedded.url(OWNER_ROLE)
    _engine = "config.embedded"
else:
    _engine = "config.database"


def _database(url: str, name: str, engine: str = _engine) -> dict[str, Any]:
    try:
        with warnings.catch_warnings(action="ignore"):  # of an unknown scheme; refused below
            config: dict[str, Any] = dict(environ.Env.db_url_config(url))
    except Exception:  # noqa: BLE001 - its text can hold a part of the password
        raise ImproperlyConfigured(f"{name} is not a database URL: set it to postgresql://user@host/name.") from None
    if config.get("ENGINE") != "django.db.backends.postgresql" or not config.get("NAME"):
        raise ImproperlyConfigured(f"{name} must name a PostgreSQL database: postgresql://user@host/name.")
    # The embedded server's socket folder comes as a query parameter.
    config["HOST"] = config.get("OPTIONS", {}).pop("host", config["HOST"])
    return config | {"ENGINE": engine}


# Lists are read in the order of an index, so that a page costs the same at any depth. With PostgreSQL's default for a
# random read, which is a spinning disk's, it would read and sort all rows of a user who has more than most.
# Compiling short statements (jit) costs more than it saves.
_SESSION = "-c timezone=UTC -c datestyle=ISO -c jit=off -c random_page_cost=1"

DATABASES = {"default": _database(_database_url, "DATABASE_URL")}
DATABASES["default"] |= {
    # A server that stands still keeps no statement_timeout; an answer is due within 5 s all the same.
    "ANSWER_SECONDS": 4.5,
    # Each thread that serves keeps one; our backend replaces it where it broke.
    "CONN_MAX_AGE": None,
    "OPTIONS": {
        **DATABASES["default"].get("OPTIONS", {}),
        # A host that has gone silent: to notice it, and to find no new connection, take less than 5 s together.
        "connect_timeout": 2,
        "tcp_user_timeout": 2000,
        "keepalives_idle": 1,
        "keepalives_interval": 1,
        "keepalives_count": 2,
        "application_name": "partner-service",
        "server_side_binding": True,
        # What is to be prepared is (config/database/pipeline.py). psycopg, which knows nothing of that, would end all
        # prepared statements of a connection whenever a transaction is rolled back.
        "prepare_threshold": None,
        # An answer comes within seconds, whatever holds a lock.
        "options": f"{_SESSION} -c statement_timeout=4s -c lock_timeout=3s -c idle_in_transaction_session_timeout=30s",
    },
}
if _owner_url:
    DATABASES["owner"] = _database(_owner_url, "OWNER_DATABASE_URL")
    require_two_roles(DATABASES["default"], DATABASES["owner"], debug=DEBUG)
if _replica_url := env.str("REPLICA_DATABASE_URL", default=""):
    # Lists are read there (transactions/replica.py). It has to answer sooner than the primary: that one is still there.
    DATABASES["replica"] = _database(_replica_url, "REPLICA_DATABASE_URL", "config.database")
    DATABASES["replica"] |= {
        "ANSWER_SECONDS": 1.0,
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            **DATABASES["replica"].get("OPTIONS", {}),
            "connect_timeout": 2,
            "application_name": "partner-service",
            "server_side_binding": True,
            "prepare_threshold": 1,
            "options": f"{_SESSION} -c statement_timeout=1s -c default_transaction_read_only=on",
        },
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    # First, so that its `migrate`, which runs as the owner, replaces Django's.
    "partners",
    "users",
    "transactions",
    # Before the admin, whose templates it replaces.
    "unfold",
    "unfold.contrib.filters",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django.contrib.postgres",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "rest_framework",
    "drf_spectacular",
    "pgtrigger",
    "pghistory",
]

# A request passes these top down, until one of them answers.
MIDDLEWARE = [
    "partners.api.middleware.RequestMiddleware",
    # Answers partners' requests, all under /v1.
    "partners.api.middleware.ApiMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "users.staff_login.csp.ContentSecurityPolicyMiddleware",
    # Answers readers of the docs, who have no session.
    "partners.docs.middleware.DocsMiddleware",
    # Files and staff.
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "users.backoffice.time_zone.TimeZoneMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "users.staff_login.middleware.StaffLoginMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
# The paths are the contract's: nothing is added to them.
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# Views declare the rest (partners/api/base.py); partners/api/checks.py refuses what no view would heed.
REST_FRAMEWORK: dict[str, Any] = {
    "EXCEPTION_HANDLER": "partners.api.errors.exception_handler",
    "DEFAULT_PERMISSION_CLASSES": [],
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_SCHEMA_CLASS": "partners.api.schema.ApiSchema",
}
# The OpenAPI document
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Partner Service Interface",
    "DESCRIPTION": "Register users under identifiers of your own, keep their details up to date, learn where they"
    " stand with compliance, and read their conversions and documents. Every request is signed: the guide at /docs"
    " shows how, step by step.",
    "VERSION": "1.0.0",
    "CONTACT": {"name": "Partner support"},
    "LICENSE": {"name": "Proprietary", "identifier": "LicenseRef-Proprietary"},
    "OAS_VERSION": "3.1.0",
    "SERVERS": [{"url": "/", "description": "The service that serves this document."}],
    "TAGS": [
        {"name": "Ping", "description": "The first signed call."},
        {"name": "Users", "description": "Who your users are, and where they stand."},
        {"name": "Conversions", "description": "What your users converted."},
        {"name": "Documents", "description": "Papers issued to your users."},
    ],
    "CAMELIZE_NAMES": True,
    "SORT_OPERATION_PARAMETERS": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    # The serializers name their components (users/api/schema.py).
    "COMPONENT_SPLIT_PATCH": False,
    "POSTPROCESSING_HOOKS": ["config.openapi.complete"],
}

# Who changed a row, and by which request, lies in the history row itself: append-only needs no second table.
PGHISTORY_APPEND_ONLY = True

# Staff
AUTH_USER_MODEL = "users.Staff"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "admin:index"
LOGOUT_REDIRECT_URL = "account_login"
STAFF_MFA_REQUIRED = staff_mfa_setting(env.str("STAFF_MFA_REQUIRED", default="true"), debug=DEBUG)
COMPLIANCE_TARGET_HOURS = whole_number(
    "COMPLIANCE_TARGET_HOURS", env.str("COMPLIANCE_TARGET_HOURS", default="24"), lowest=1, highest=8760
)
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "CommonPasswordValidator", "NumericPasswordValidator")
] + [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
]

# Login of staff (users/staff_login)
ACCOUNT_ADAPTER = "users.staff_login.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
# Ends with the browser at the latest.
ACCOUNT_SESSION_REMEMBER = False
# Of an address; and of an account, for its password and for its codes.
ACCOUNT_RATE_LIMITS = {"login_failed": "10/m/ip,5/5m/key", "login": "30/m/ip", "reauthenticate": "10/m/user"}
# The pages that show a secret call it: the login of staff is above the app of partners.
REQUIRE_REAUTHENTICATION = "users.staff_login.reauthentication.require_fresh_factor"
MFA_ADAPTER = "users.staff_login.adapters.MFAAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
# Staff have no mailbox here to verify.
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_ISSUER = "Partner Service"
# One period before and after: for phones whose clock is not exact, and for slow fingers.
MFA_TOTP_TOLERANCE = 1
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = DEBUG
MFA_FORMS = {
    "authenticate": "users.staff_login.forms.AuthenticateForm",
    "reauthenticate": "users.staff_login.forms.ReauthenticateForm",
    "add_webauthn": "users.staff_login.forms.AddPasskeyForm",
}
# The proxy in front says who asks.
ALLAUTH_TRUSTED_PROXY_COUNT = 0 if DEBUG else 1

# Failed logins and used codes are counted for all processes together: in Redis, or else in the database.
CACHES: dict[str, Any] = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "staff",
        "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 1},
    }
    if REDIS_URL
    else {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "staff_cache",
        "OPTIONS": {"MAX_ENTRIES": 10_000},
    }
}

# How the back office looks
UNFOLD = unfold.unfold(debug=DEBUG)

# The back office speaks the language of the cookie, or else of the browser; partners are answered in English.
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("fr", "French")]
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Strict"
# Of commands and logs. Staff see COMPLIANCE_TIME_ZONE (users/backoffice/time_zone.py), partners UTC.
TIME_ZONE = "UTC"
USE_TZ = True
FORMAT_MODULE_PATH = ["config.formats"]

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
# While developing, files are served from where they are; otherwise from what collectstatic gathered.
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = DEBUG
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
    # Nothing else is kept there, and documents nowhere else.
    "documents": document_storage_setting(
        env.str("DOCUMENT_STORAGE_URL", default=""), debug=DEBUG, local_folder=BASE_DIR / ".local" / "documents"
    ),
}

if not DEBUG:
    # The proxy in front ends TLS and says so; staff are sent to it.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    # Asks browsers' makers to build this host into their lists, from which nobody is removed quickly.
    SECURE_HSTS_PRELOAD = switch("SECURE_HSTS_PRELOAD", env.str("SECURE_HSTS_PRELOAD", default="true"))
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    LANGUAGE_COOKIE_SECURE = True
    # Over HTTPS, from this host, for all of it: no other can set them.
    SESSION_COOKIE_NAME = "__Host-session"
    CSRF_COOKIE_NAME = "__Host-csrf"
# Without a request. How long a session may last altogether: users/staff_login/sessions.py.
SESSION_COOKIE_AGE = 30 * 60
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
SESSION_COOKIE_SAMESITE = "Strict"
CSRF_COOKIE_SAMESITE = "Strict"
X_FRAME_OPTIONS = "DENY"

LOGGING_CONFIG = None
logs.configure(debug=DEBUG)
