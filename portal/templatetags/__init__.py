"""Template tags of the pages under /docs."""
