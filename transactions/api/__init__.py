"""Conversions and documents on the wire: contract, sections 6, 7 and 9."""
