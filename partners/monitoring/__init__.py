"""What operators see of the running service: its health, its metrics, and what each request's log line tells."""
