"""The pages for partners' developers, under /docs."""
