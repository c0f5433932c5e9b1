"""Imports of conversions: NDJSON lines, committed in batches."""
