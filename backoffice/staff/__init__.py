"""Staff accounts and roles."""
