"""Lists of users, decisions, history, conversions and documents."""
