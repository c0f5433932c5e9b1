"""The WSGI application. Requests pass settings.MIDDLEWARE from top to bottom."""

import gc
import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)

from django.urls import get_resolver  # noqa: E402 - needs settings

from partners.api.handler import ServiceHandler  # noqa: E402

application = ServiceHandler()
# Load the views, which Django would do at the first request.
get_resolver().url_patterns  # noqa: B018
# A garbage collection over all loaded modules would delay requests by some 70 ms.
gc.collect()
gc.freeze()
