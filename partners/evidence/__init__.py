"""The key that signs evidence packs."""
