"""The case page: one user, what is known of them, and the decision."""
