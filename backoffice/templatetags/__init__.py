"""Template tags of the back office."""
