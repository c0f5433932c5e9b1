"""Health, metrics and the context of each request's log line."""
