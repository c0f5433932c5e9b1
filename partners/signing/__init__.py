"""Signatures of requests, and what explains them."""
