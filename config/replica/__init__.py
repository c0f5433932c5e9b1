"""How a read replica is connected to."""
