"""The app below all others."""

from django.apps import AppConfig


class CoreConfig(AppConfig):
    """What Django lacks: the database backend, triggers, the audit log, encryption, formats of times and numbers."""

    name = "core"
