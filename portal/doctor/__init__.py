"""The page of the signature doctor."""
