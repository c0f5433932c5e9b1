"""An embedded PostgreSQL for development, the demo and the tests; never for production."""
