"""The work on a case: claims, notes, search."""
