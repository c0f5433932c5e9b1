"""Template filters of the docs' pages."""
