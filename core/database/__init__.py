"""Django's PostgreSQL backend, whose waits for the database have an end."""
