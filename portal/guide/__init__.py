"""The guide, *Go live*, the examples, and the changelog."""
