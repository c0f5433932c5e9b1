"""The reference: the OpenAPI description as pages."""
