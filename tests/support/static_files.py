"""Static files for the servers of tests, collected as in a deployment."""

import os
from functools import cache
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.test import override_settings

# As in production (config/settings.py): the names of files have a digest, which pages look up.
STORAGE = {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}


@cache
def static_files() -> Path:
    """Return the STATIC_ROOT of this process of pytest."""
    folder = Path(settings.BASE_DIR) / ".local" / f"static-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    with override_settings(STATIC_ROOT=folder, STORAGES=settings.STORAGES | {"staticfiles": STORAGE}):
        call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    return folder
