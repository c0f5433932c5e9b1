"""The reference: everything that the OpenAPI document describes, without naming any operation."""
