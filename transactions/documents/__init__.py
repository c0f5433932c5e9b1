"""Documents: publishing, storage and downloads."""
