"""Exports of the back office: evidence packs and lists of users."""
