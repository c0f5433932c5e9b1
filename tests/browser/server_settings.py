"""The settings of the servers that browsers are in front of."""

from tests.server_settings import *  # noqa: F403

# As deployed, so that a browser asks for a page's files once; DEBUG would have them looked for with each page.
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = False
WHITENOISE_MAX_AGE = 600
# Passwords of tests guard nothing.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
