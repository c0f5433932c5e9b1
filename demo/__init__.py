"""The demo: data that look like a partner's, and a walk through the API with real signed requests. Not deployed."""
