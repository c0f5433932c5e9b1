"""The work on cases: claims, the search, and which users staff see."""
