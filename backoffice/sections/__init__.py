"""Sections: lists of a user's rows on the case page and in the evidence pack."""
