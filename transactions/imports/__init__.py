"""Imports: lines of NDJSON, and the conversions that they bring."""
