"""What an endpoint answers with."""

from dataclasses import dataclass

from django.http.response import HttpResponseBase


@dataclass(slots=True)
class JsonResponse:
    """A short answer. Django's knows of cookies, charsets and what to close, and costs as much as a statement.

    headers: names and values of our own making: nothing looks for a line's end in them.
    """

    status_code: int
    content: bytes
    headers: dict[str, str]


def json_response(status: int, body: bytes, headers: dict[str, str]) -> JsonResponse:
    """An answer with a JSON body, with its length: without one it would go out chunked."""
    return JsonResponse(status, body, {"Content-Type": "application/json", "Content-Length": str(len(body))} | headers)


# A file goes out as Django's.
Response = JsonResponse | HttpResponseBase
