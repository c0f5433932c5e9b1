"""What sandbox partners do by themselves that staff do for live ones: webhooks and API keys (contract, section 11)."""
