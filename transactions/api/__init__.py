"""The API of conversions and documents: contract, sections 6, 7 and 9."""
