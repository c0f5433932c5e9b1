"""Conversions and documents of users."""
