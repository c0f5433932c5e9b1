"""What an endpoint answers with."""

from collections.abc import Mapping

from django.http import HttpResponse

JSON = "application/json"


def json_response(status: int, body: bytes, headers: Mapping[str, str] = {}) -> HttpResponse:
    """An answer with a JSON body, with its length: without one the server would send it in chunks.

    body: JSON in UTF-8, so that the stored answer to an earlier write goes out byte for byte.
    """
    return HttpResponse(
        body, status=status, headers={"Content-Type": JSON, "Content-Length": str(len(body)), **headers}
    )
