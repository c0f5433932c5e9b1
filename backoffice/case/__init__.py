"""The page of a case, and what staff do there."""
