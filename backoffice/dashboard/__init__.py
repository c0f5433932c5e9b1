"""The dashboard and the start page."""
