"""The pages of /docs: Markdown, what Sphinx makes of it, and the URLs beside it. `make docs` builds them."""
