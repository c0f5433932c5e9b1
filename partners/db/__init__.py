"""PostgreSQL beyond the ORM: prepared statements, triggers, the serving role."""
