"""Sign-in of staff with the company's account: OpenID Connect, by allauth's provider (docs/operations.md)."""
