"""Settings, URLs, the server and the database backend; no business rules."""
