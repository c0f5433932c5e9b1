"""The queue: lists of users who wait, and of proposals."""
