"""The API: what every request under /v1 passes, and what every answer looks like."""
