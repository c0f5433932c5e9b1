"""The WSGI application that the server loads. What a request passes is settings.MIDDLEWARE, top down."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)

from django.urls import get_resolver  # noqa: E402 - from here on with the settings

from config.request_handler import ServiceHandler  # noqa: E402

application = ServiceHandler()
# Loads the views, which Django does at the first request.
get_resolver().url_patterns  # noqa: B018
