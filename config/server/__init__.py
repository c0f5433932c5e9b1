"""The server: a master process, its workers, and the internal port."""
