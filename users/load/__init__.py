"""Made-up users by the million: what the back office is measured with. For development alone."""
