"""Formats of date and time by language (FORMAT_MODULE_PATH): with 24 hours and the time zone, unlike Django's."""
