"""The queue of users who wait for a decision."""
