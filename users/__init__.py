"""Partners' users: profile, status, compliance."""
