"""The login of staff: password, second factor, sessions that expire."""
