"""The gate: who is asking, may they, how often, at most once; how every answer looks."""
