"""Data that leaves the back office: evidence packs and lists of users."""
