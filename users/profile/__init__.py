"""The profile of a user: rules of its fields, updates, labels."""
