"""The feed of events: the outbox, the relay, and GET /v1/events."""
