"""The profile of a user: rules of its fields, folded names, labels."""
