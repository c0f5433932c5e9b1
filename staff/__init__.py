"""Who decides: accounts of staff, their roles, and how they sign in."""
