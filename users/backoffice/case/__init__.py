"""The case page, on which staff decide about a user."""
