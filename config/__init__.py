"""Settings, paths and serving: composition only, no rules."""
