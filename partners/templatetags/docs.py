"""Filters of the docs' pages."""

from django import template

from partners.docs.highlighting import highlight

register = template.Library()

register.filter("highlight", highlight)
