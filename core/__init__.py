"""What Django lacks: the database backend, triggers, the audit log, encryption, formats of times and numbers."""
