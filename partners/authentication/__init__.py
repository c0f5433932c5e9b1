"""API keys, their secrets, and the signature of each request: contract, section 3."""
