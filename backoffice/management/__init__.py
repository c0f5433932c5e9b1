"""Commands on what staff read."""
