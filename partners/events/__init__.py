"""Events of partners: the outbox, the relay, the feed (contract, section 10)."""
