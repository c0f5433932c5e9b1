"""Paths of this app."""

from django.urls import path

from users.api.sandbox import SimulatedStatus
from users.api.views import UserCollection, UserItem

urlpatterns = [
    path("v1/users", UserCollection.as_view()),
    path("v1/users/<str:external_id>", UserItem.as_view()),
    path("v1/sandbox/users/<str:external_id>/status", SimulatedStatus.as_view()),
]
