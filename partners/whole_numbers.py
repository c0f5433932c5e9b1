"""Whole numbers in settings and on command lines."""

import re

_WHOLE_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


def parse_whole_number(text: str, lowest: int, highest: int) -> int:
    """Parse decimal digits, without a sign. Raises ValueError, whose text continues "must be"."""
    if not _WHOLE_NUMBER.fullmatch(text) or not lowest <= int(text) <= highest:
        raise ValueError(f"a whole number from {lowest} to {highest}")
    return int(text)
