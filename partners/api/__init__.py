"""What every endpoint under /v1 shares."""
