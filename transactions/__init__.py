"""What happened on a user's account: conversions, in paged lists."""
