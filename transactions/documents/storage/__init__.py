"""Storages of documents. Failures are OSErrors, a missing file is a FileNotFoundError."""
