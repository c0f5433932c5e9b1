"""The file of a user: the kinds of entries, recording and reading them (docs/operations.md, "The file of a user")."""
