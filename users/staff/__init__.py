"""Staff accounts, their roles and their access."""
