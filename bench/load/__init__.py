"""Made-up users and conversions by the million: what the product is measured with."""
