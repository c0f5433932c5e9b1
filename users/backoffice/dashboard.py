"""Placeholder until this page is written."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
