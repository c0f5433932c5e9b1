"""What happened on a user's account: conversions and documents, in paged lists."""
