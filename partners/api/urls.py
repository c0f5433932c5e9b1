"""Paths of this app."""

from django.urls import path

from partners.api.views import Ping

urlpatterns = [path("v1/ping", Ping.as_view())]
