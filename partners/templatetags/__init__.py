"""Template filters of the docs."""
