"""Times, numbers and JSON values as texts."""
