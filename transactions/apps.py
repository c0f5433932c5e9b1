"""The app of what happens on a user's account."""

from django.apps import AppConfig


class TransactionsConfig(AppConfig):
    """Conversions, and their lists."""

    name = "transactions"
