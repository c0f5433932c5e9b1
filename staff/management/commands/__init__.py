"""Commands of staff accounts."""
