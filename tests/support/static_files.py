"""Static files for the servers of tests, collected as in a deployment."""

import atexit
import tempfile
from functools import cache
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.test import override_settings

# As in production (config/settings.py): the names of files have a digest, which pages look up.
STORAGE = {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}


@cache
def static_files() -> Path:
    """Return the STATIC_ROOT of this process of pytest, which no other run in this checkout shares."""
    temporary = tempfile.TemporaryDirectory(prefix="psi-static-")
    atexit.register(temporary.cleanup)
    folder = Path(temporary.name)
    with override_settings(STATIC_ROOT=folder, STORAGES=settings.STORAGES | {"staticfiles": STORAGE}):
        call_command("collectstatic", interactive=False, verbosity=0)
    return folder
