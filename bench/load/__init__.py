"""Generates users and conversions by the million for measurements."""
