"""The base of all endpoints under /v1."""
