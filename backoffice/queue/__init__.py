"""The queue: users that need a decision, and acts on several of them."""
