"""What sandbox partners do by themselves, under /v1/sandbox: contract, section 11."""
