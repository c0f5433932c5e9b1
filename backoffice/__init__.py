"""The back office of compliance staff, auditors and partner managers, under /admin."""
