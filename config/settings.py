"""Settings, from the environment or `.env` (docs/operations.md). A bad value stops the start."""

import os
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from config import logs, unfold
from config import setting_types as types
from config.embedded.server import OWNER_ROLE, SERVICE_ROLE, checkout_server

BASE_DIR = Path(__file__).resolve().parent.parent
env = types.Env()
env.read_env(BASE_DIR / ".env")

DEBUG: bool = env.bool("DEBUG", default=False)
_secret = partial(types.secret, debug=DEBUG)
SECRET_KEY: str = env("SECRET_KEY", cast=_secret, default="", parse_default=True)
# Further keys that verify sessions while SECRET_KEY is replaced.
SECRET_KEY_FALLBACKS: list[str] = env.list("SECRET_KEY_FALLBACKS", cast=_secret, default=[])
# Newest first: the first encrypts, all decrypt.
SECRETS_ENCRYPTION_KEYS: list[str] = env.list("SECRETS_ENCRYPTION_KEYS", cast=_secret, default=[])
types.require(SECRETS_ENCRYPTION_KEYS, f"SECRETS_ENCRYPTION_KEYS: not set; {types.SET_SECRET}")
# A leaked secret must not compromise what another one protects.
_secrets = {"SECRET_KEY": [SECRET_KEY], "SECRETS_ENCRYPTION_KEYS": SECRETS_ENCRYPTION_KEYS}
_seen: dict[str, str] = {}
for _name, _values in (_secrets | {"SECRET_KEY_FALLBACKS": SECRET_KEY_FALLBACKS}).items():
    for _value in _values:
        types.require(_value not in _seen, f"{_name}: repeats a value of {_seen.get(_value)}; set a different one.")
        _seen[_value] = _name

# Signs evidence packs. None: they say that they are unsigned.
EVIDENCE_SIGNING_KEY = env("EVIDENCE_SIGNING_KEY", cast=types.ed25519_private_key, default="", parse_default=True)

_local_names = ["localhost", "127.0.0.1", "[::1]"]
ALLOWED_HOSTS: list[str] = env.list("ALLOWED_HOSTS", cast=types.host_name, default=_local_names if DEBUG else [])
types.require(
    ALLOWED_HOSTS or DEBUG, "ALLOWED_HOSTS: not set; set it to the service's host names, such as partners.example.com."
)

# The API
PARTNER_RATE_LIMIT: str = env("PARTNER_RATE_LIMIT", cast=types.rate, default="600/minute")
CLOCK_SKEW_SECONDS: int = env("CLOCK_SKEW_SECONDS", cast=types.whole_number(1, 3600), default=300)
COMPLIANCE_TIME_ZONE: str = env("COMPLIANCE_TIME_ZONE", cast=types.time_zone, default="America/Toronto")
# For how many years the records of a user are kept after the end (docs/operations.md, "Records").
RETENTION_YEARS: int = env("RETENTION_YEARS", cast=types.whole_number(5, 50), default=5)
REDIS_URL: str = env("REDIS_URL", cast=types.redis_url, default="")

# Webhooks. PEM file of the certificate authorities to trust instead of the system's; empty: the system's.
WEBHOOK_CA_BUNDLE: str = env("WEBHOOK_CA_BUNDLE", cast=types.certificates, default="")
# Whether webhooks may go to this machine, for tests and the demo.
WEBHOOK_ALLOW_LOOPBACK: bool = env.bool("WEBHOOK_ALLOW_LOOPBACK", default=False)
types.require(DEBUG or not WEBHOOK_ALLOW_LOOPBACK, "WEBHOOK_ALLOW_LOOPBACK: true only if DEBUG is true; remove it.")

# Serving
HOST: str = env("HOST", cast=types.listen_address, default="127.0.0.1")
PORT: int = env("PORT", cast=types.whole_number(1, 65535), default=8000)

CSRF_TRUSTED_ORIGINS: list[str] = env.list(
    "CSRF_TRUSTED_ORIGINS",
    cast=types.origin("https?" if DEBUG else "https"),
    default=[f"http://{name}:{PORT}" for name in _local_names] if DEBUG else [],
)

# `default` serves under a role that can change neither history nor the schema. `owner` migrates; it need not be
# configured where the service runs.
_serving = env("DATABASE_URL", cast=types.database, default="")
_owner = env("OWNER_DATABASE_URL", cast=types.database, default="")
types.require(_serving or DEBUG, "DATABASE_URL: not set; set it to postgresql://… (optional only if DEBUG=true).")
_engine = "core.database"
if not _serving:
    _engine = "config.embedded"
    _serving = types.database(checkout_server.url(SERVICE_ROLE))
    _owner = _owner or types.database(checkout_server.url(OWNER_ROLE))
types.require(
    DEBUG or not _owner or _owner["USER"] != _serving["USER"],
    "OWNER_DATABASE_URL: names the role of DATABASE_URL; set DATABASE_URL to the URL of a role of its own, which"
    " setup_database_roles creates.",
)
# psycopg reads dates in this style only; role and database may have another.
_DATE_STYLE = "-c datestyle=ISO"
# Lists are read in index order, so that each page costs the same. With random_page_cost's default, for a spinning disk,
# PostgreSQL would sort all rows of users with many. jit costs short statements more than it saves. Locks that are
# waited for (partners/api/idempotency.py) show what was committed meanwhile only in read committed.
_SESSION = (
    f"-c timezone=UTC {_DATE_STYLE} -c jit=off -c random_page_cost=1 -c default_transaction_isolation=read\\ committed"
    " -c statement_timeout=4s -c lock_timeout=3s -c idle_in_transaction_session_timeout=30s"
)
_serving["OPTIONS"] |= {
    "connect_timeout": 2,
    "application_name": "partner-service",
    "server_side_binding": True,
    # To notice a silent host and to fail to connect again takes less than 5 s together.
    "tcp_user_timeout": 2000,
    "keepalives_idle": 1,
    "keepalives_interval": 1,
    "keepalives_count": 2,
    # core/database/pipeline.py prepares statements. psycopg would drop them all at each rollback.
    "prepare_threshold": None,
    "options": _SESSION,
}
# RESPONSE_SECONDS: how long to wait for a response (core/database/pipeline.py), as a server that hangs enforces no
# timeout. CONN_MAX_AGE: each thread keeps a connection; the backend replaces broken ones.
DATABASES = {"default": _serving | {"ENGINE": _engine, "RESPONSE_SECONDS": 4.5, "CONN_MAX_AGE": None}}
if _owner:
    # libpq would leave PGOPTIONS out, by which a migration has its lock timeout.
    _owner["OPTIONS"]["options"] = f"{_DATE_STYLE} {os.environ.get('PGOPTIONS', '')}"
    DATABASES["owner"] = _owner | {"ENGINE": _engine}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    # `core` is first, so that its `migrate`, which runs as the owner, replaces Django's.
    *("core", "partners", "events", "staff", "users", "transactions", "sandbox", "backoffice", "docs_site"),
    # Not in the deployed image; its commands need DEBUG.
    *(["demo"] if (BASE_DIR / "demo").is_dir() else []),
    # It comes before the admin, whose templates it replaces.
    *("unfold", "unfold.contrib.filters"),
    *("django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"),
    *("django.contrib.messages", "django.contrib.staticfiles", "django.contrib.humanize", "django.contrib.postgres"),
    *("allauth", "allauth.account", "allauth.mfa", "allauth.socialaccount"),
    "allauth.socialaccount.providers.openid_connect",
    *("rest_framework", "pgtrigger", "pghistory"),
]

# A request passes them in this order; some respond to it.
MIDDLEWARE = [
    # Responds to /livez, /readyz and /metrics.
    "partners.api.middleware.MonitoringMiddleware",
    "partners.api.middleware.RequestMiddleware",
    # Responds to all of /v1.
    "partners.api.middleware.ApiMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "backoffice.middleware.ContentSecurityPolicyMiddleware",
    # Static files, the pages of /docs, and /openapi.json.
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "backoffice.middleware.TimeZoneMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "staff.login.middleware.StaffLoginMiddleware",
    "backoffice.middleware.ErasedUserMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
# The contract defines the paths.
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
            ]
        },
    }
]

# Views declare the rest (partners/api/base.py).
REST_FRAMEWORK: dict[str, Any] = {
    "EXCEPTION_HANDLER": "partners.api.errors.exception_handler",
    "DEFAULT_PERMISSION_CLASSES": [],
    "UNAUTHENTICATED_USER": None,
    # No field of a body has this name.
    "NON_FIELD_ERRORS_KEY": None,
}

# Staff
AUTH_USER_MODEL = "staff.Staff"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "admin:index"
LOGOUT_REDIRECT_URL = "account_login"
STAFF_MFA_REQUIRED: bool = env.bool("STAFF_MFA_REQUIRED", default=True)
types.require(STAFF_MFA_REQUIRED or DEBUG, "STAFF_MFA_REQUIRED: false only if DEBUG is true; remove it.")
# Sign-in with the company's account (staff/oidc): the first three, or none of all.
STAFF_OIDC_ISSUER: str = env("STAFF_OIDC_ISSUER", cast=types.issuer("https?" if DEBUG else "https"), default="")
STAFF_OIDC_CLIENT_ID: str = env("STAFF_OIDC_CLIENT_ID", cast=str, default="")
STAFF_OIDC_CLIENT_SECRET: str = env("STAFF_OIDC_CLIENT_SECRET", cast=str, default="")
# The button of the login page shows it.
STAFF_OIDC_NAME: str = env("STAFF_OIDC_NAME", cast=str, default="") or urlsplit(STAFF_OIDC_ISSUER).hostname or ""
STAFF_OIDC_ROLES: dict[str, str] = env("STAFF_OIDC_ROLES", cast=types.staff_roles, default="") or {}
STAFF_OIDC_ROLES_CLAIM: str = env("STAFF_OIDC_ROLES_CLAIM", cast=str, default="") or "groups"
STAFF_OIDC_MFA_VALUES: list[str] = env.list("STAFF_OIDC_MFA_VALUES", cast=types.claim_value, default=[])
STAFF_OIDC_MFA_VALUES = STAFF_OIDC_MFA_VALUES or ["mfa", "otp", "hwk", "swk", "fpt", "face"]
_all_three = "all of STAFF_OIDC_ISSUER, STAFF_OIDC_CLIENT_ID and STAFF_OIDC_CLIENT_SECRET"
_has_provider = bool(STAFF_OIDC_ISSUER and STAFF_OIDC_CLIENT_ID and STAFF_OIDC_CLIENT_SECRET)
for _name in sorted(name for name, value in os.environ.items() if name.startswith("STAFF_OIDC_") and value):
    types.require(_has_provider, f"{_name}: set {_all_three}, or remove it.")
STAFF_PASSWORD_LOGIN: bool = env.bool("STAFF_PASSWORD_LOGIN", default=True)
types.require(STAFF_PASSWORD_LOGIN or _has_provider, f"STAFF_PASSWORD_LOGIN: false only with {_all_three}; remove it.")
COMPLIANCE_TARGET_HOURS: int = env("COMPLIANCE_TARGET_HOURS", cast=types.whole_number(1, 8760), default=24)
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
]
# Invitations (staff/login/invitations.py): 72 hours. There is no password reset by mail.
PASSWORD_RESET_TIMEOUT = 72 * 3600

# Login of staff (staff/login)
ACCOUNT_ADAPTER = "staff.login.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SESSION_REMEMBER = False
# The last two are counted by staff/login/adapters.py. `login` counts successful ones too.
ACCOUNT_RATE_LIMITS = {
    # `key` is the account and the client's address for passwords, the account for codes.
    "login_failed": "5/5m/key",
    # An office behind one address has many people.
    "login_failed_at_address": "50/5m/ip",
    # Guesses from many addresses.
    "login_failed_of_account": "100/h/key",
    "login": "60/m/ip",
    # Sign-ins by the company's provider: of an office of sixty that begins at nine, each with a second try.
    "provider": "120/m/ip",
    "reauthenticate": "10/m/user",
}
# The company's account (staff/oidc).
SOCIALACCOUNT_ADAPTER = "staff.oidc.sign_in.SocialAccountAdapter"
# Seconds that a request to the provider waits for its answer.
SOCIALACCOUNT_REQUESTS_TIMEOUT = 5
SOCIALACCOUNT_STORE_TOKENS = False
MFA_ADAPTER = "staff.login.adapters.MFAAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
# It would accept a password: staff/login/middleware.py requires a second factor.
MFA_REAUTHENTICATION_REQUIRED = False
# Staff have no verified mailbox here.
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
# Authenticator apps show it with the host (staff/login/adapters.py).
MFA_TOTP_ISSUER = "Partner Service"
# Periods before and after the present one.
MFA_TOTP_TOLERANCE = 1
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = DEBUG
MFA_FORMS = {
    "authenticate": "staff.login.forms.AuthenticateForm",
    "reauthenticate": "staff.login.forms.ReauthenticateForm",
    "authenticate_webauthn": "staff.login.forms.AuthenticatePasskeyForm",
    "reauthenticate_webauthn": "staff.login.forms.ReauthenticatePasskeyForm",
}
# The proxy in front adds the client's address.
ALLAUTH_TRUSTED_PROXY_COUNT = 0 if DEBUG else 1

# Failed logins and used codes, shared by all processes: in Redis, otherwise in the database.
CACHES: dict[str, Any] = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "staff",
        "OPTIONS": {
            "socket_connect_timeout": 1,
            "socket_timeout": 1,
            # Not pickle: who writes to Redis must not run code here.
            "serializer": "django.core.signing.JSONSerializer",
        },
    }
}
if not REDIS_URL:
    _in_table = {"BACKEND": "staff.login.cache.PlainDatabaseCache", "LOCATION": "staff_cache"}
    CACHES = {"default": _in_table | {"OPTIONS": {"MAX_ENTRIES": 10_000}}}

UNFOLD = unfold.unfold(debug=DEBUG)

# The back office uses the language of the cookie or the browser; the API is in English.
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("fr", "French")]
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
# Commands and logs use it; the back office shows COMPLIANCE_TIME_ZONE (backoffice/middleware.py).
TIME_ZONE = "UTC"
USE_TZ = True
FORMAT_MODULE_PATH = ["config.formats"]

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
# In development static files are served from the apps, otherwise from STATIC_ROOT.
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = DEBUG
# `make docs` writes the pages of /docs and /openapi.json there.
WHITENOISE_ROOT = BASE_DIR / ".local" / "site"
WHITENOISE_INDEX_FILE = True
# Browsers show examples instead of storing them.
WHITENOISE_MIMETYPES = dict.fromkeys((".py", ".mjs", ".sh", ".php", ".java", ".go"), "text/plain")
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
    "documents": env(
        "DOCUMENT_STORAGE_URL",
        cast=partial(types.document_storage, default=BASE_DIR / ".local" / "documents" if DEBUG else None),
        default="",
        parse_default=True,
    ),
}

if not DEBUG:
    # The proxy in front terminates TLS.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = env.bool("SECURE_HSTS_PRELOAD", default=True)
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    LANGUAGE_COOKIE_SECURE = True
    # Browsers accept these names over HTTPS from this host only.
    SESSION_COOKIE_NAME = "__Host-session"
    CSRF_COOKIE_NAME = "__Host-csrf"
# Between two requests; staff/login/middleware.py limits the whole session.
SESSION_COOKIE_AGE = 30 * 60
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
# A link in a mail or a chat opens its page for one who is signed in. Only GETs of other sites send these along, and no
# GET changes anything.
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"

LOGGING_CONFIG = None
logs.configure(debug=DEBUG)
