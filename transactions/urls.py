"""Paths of this app under /v1."""

from django.urls import path

from transactions.views import TransactionList

urlpatterns = [path("users/<str:external_id>/transactions", TransactionList.as_view())]
