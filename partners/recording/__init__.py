"""The requests that sandbox partners sent: contract, section 11."""
