"""How staff come in: password, second factor, sessions that end."""
