"""What the apps need of PostgreSQL beyond the ORM: prepared statements, triggers, the serving role."""
