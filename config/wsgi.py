"""The WSGI application that the server loads."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)

from partners.api.request import ServiceHandler  # noqa: E402 - needs the settings

application = ServiceHandler()
