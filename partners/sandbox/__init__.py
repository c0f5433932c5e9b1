"""What only sandbox partners have: simulated faults, and the base of the paths under /v1/sandbox."""
