"""The private names of aiohttp that the service uses (docs/dependencies.md).

aiohttp skips interim responses (1xx) without end, and reads them in the loop that all sends share; it has no public
limit. tests/partners/webhooks/test_sending.py fails where one of these names changes.
"""

from typing import Any

import aiohttp

# A server sends one or two at most (RFC 9110, section 15.2).
MAX_INTERIM_RESPONSES = 16


class BoundedResponse(aiohttp.ClientResponse):
    """A response that at most MAX_INTERIM_RESPONSES interim ones precede; otherwise it raises ClientPayloadError."""

    async def start(self, connection: Any) -> aiohttp.ClientResponse:
        """Read the head of the response."""
        read, heads = connection.protocol.read, 0

        async def bounded_read() -> Any:
            nonlocal heads
            heads += 1
            if heads > MAX_INTERIM_RESPONSES + 1:
                raise aiohttp.ClientPayloadError("too many interim responses")
            return await read()

        connection.protocol.read = bounded_read
        return await super().start(connection)
