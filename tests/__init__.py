"""Tests, by app."""
