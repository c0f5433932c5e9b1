"""Simulated decisions, requirements, conversions and documents."""
