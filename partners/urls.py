"""Paths of this app under /v1."""

from django.urls import path

from partners.views import Ping

urlpatterns = [path("ping", Ping.as_view())]
