"""How the records of users end: docs/operations.md, "Records: kept, held, erased"."""
