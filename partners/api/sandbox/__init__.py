"""What the sandbox does to every request under /v1: faults, diagnosis, the request log (contract, section 11)."""
