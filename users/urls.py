"""Paths of this app under /v1."""

from django.urls import path

from users.views import UserCollection, UserItem

urlpatterns = [
    path("users", UserCollection.as_view()),
    path("users/<str:external_id>", UserItem.as_view()),
]
