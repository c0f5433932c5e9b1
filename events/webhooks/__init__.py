"""Webhooks: endpoints, deliveries and the process that sends them (contract, section 10)."""
