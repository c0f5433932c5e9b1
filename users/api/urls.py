"""Paths of this app."""

from django.urls import path

from users.api.views import UserCollection, UserItem

urlpatterns = [
    path("v1/users", UserCollection.as_view()),
    path("v1/users/<str:external_id>", UserItem.as_view()),
]
