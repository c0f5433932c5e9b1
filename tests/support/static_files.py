"""The files of pages for the servers that tests start, gathered as a deployment gathers them."""

import os
from functools import cache
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.test import override_settings

# Of production (config/settings.py): the names of files have a digest, which pages look up.
STORAGE = {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}


@cache
def static_files() -> Path:
    """The folder for STATIC_ROOT, of this process of pytest alone: no other one replaces files that a server reads."""
    folder = Path(settings.BASE_DIR) / ".local" / f"static-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    with override_settings(STATIC_ROOT=folder, STORAGES=settings.STORAGES | {"staticfiles": STORAGE}):
        call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    return folder
