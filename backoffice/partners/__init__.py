"""Partners, their API keys, webhooks, deliveries and sandbox requests."""
