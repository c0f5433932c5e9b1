"""Paths of the back office's own pages, under /admin/. Each module names its own."""

from importlib import import_module

from django.urls import URLPattern

# In the order in which they are matched. A module has `urlpatterns`, with names beginning `backoffice_`.
MODULES = ("queue", "case", "dashboard", "exports")

urlpatterns: list[URLPattern] = []
for _module in MODULES:
    urlpatterns += import_module(f"users.backoffice.{_module}").urlpatterns
