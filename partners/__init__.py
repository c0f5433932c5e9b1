"""Partners, API keys, authentication, rate limits, idempotency and errors."""
