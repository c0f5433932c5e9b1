"""The app of partners' users and of the staff who decide about them."""

from django.apps import AppConfig


class UsersConfig(AppConfig):
    """Who the partners' users are."""

    name = "users"
