"""Exports: evidence packs and lists of users."""
