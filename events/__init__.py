"""What partners are told: the feed of events, and webhooks."""
