"""Decisions on a user: moves of the status, proposals, rules of two people, risk flags."""
