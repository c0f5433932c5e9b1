"""Counts of requests by hour, key, status, authentication failure and clock skew."""
