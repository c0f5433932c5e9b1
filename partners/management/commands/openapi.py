"""Prints the API's description."""

import sys
from typing import Any

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    """`manage.py openapi`: what GET /openapi.json answers, for docs/openapi.json (`make openapi`)."""

    help = "Prints the API's description (OpenAPI 3.1, JSON)."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Writes it to standard output."""
        from partners.docs import openapi  # noqa: PLC0415 - no other command needs drf-spectacular

        sys.stdout.buffer.write(openapi.document_bytes())
