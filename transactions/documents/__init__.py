"""Files of documents: published, stored, downloaded."""
