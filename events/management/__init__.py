"""Commands of events and webhooks."""
