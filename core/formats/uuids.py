"""The form of UUIDs in requests: 36 characters, as RFC 9562 writes them."""

import re

PATTERN = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_UUID = re.compile(PATTERN)


def is_uuid(text: str) -> bool:
    """Whether a text has this form; Python's UUID() takes others too."""
    return _UUID.fullmatch(text) is not None
