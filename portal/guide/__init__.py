"""The guide, its examples, the changelog and the countries."""
