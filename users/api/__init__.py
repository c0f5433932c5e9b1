"""Users on the wire: contract, sections 2 and 9."""
