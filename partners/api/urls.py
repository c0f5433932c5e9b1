"""Paths of this app."""

from django.urls import path

from partners.api.views import IdempotencyKeyItem, Ping

urlpatterns = [
    path("v1/ping", Ping.as_view()),
    path("v1/idempotency-keys/<str:idempotency_key>", IdempotencyKeyItem.as_view()),
]
