"""Makes the calls that it reads with the client, as tests/examples/driven.py has them, and writes the results."""

import io
import json
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psi


def snake_case(name: str) -> str:
    return re.sub("[A-Z0-9]+", lambda found: f"_{found[0].lower()}", name) if name != "sha256" else name


def plain(value: Any) -> Any:
    """A result as JSON has it."""
    if isinstance(value, psi.Events):
        return [{"event": event, "cursor": value.cursor} for event in value]
    if isinstance(value, Iterator):
        return list(value)
    if isinstance(value, psi.Response):
        return {"status": value.status, "body": value.body.decode()}
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def call(client: psi.Client, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
    named = {snake_case(key): value for key, value in options.items()}
    if name == "verifyWebhook":
        body, headers, secrets = arguments
        return psi.verify_webhook(body.encode(), headers, secrets, **named)
    if name == "pages":
        (path,) = arguments
        return client.pages(path, named)
    if name == "streamDocument":
        file = io.BytesIO(b"before")
        file.seek(0, io.SEEK_END)
        external_id, document_id = arguments
        client.download_document(external_id, document_id, file, **named)
        return file.getvalue().removeprefix(b"before")
    *parts, name = name.split(".")
    return getattr(client.sandbox if parts else client, snake_case(name))(*arguments, **named)


def parts(response: psi.Response) -> dict[str, Any]:
    limit = response.rate_limit
    rate_limit = limit and {"limit": limit.limit, "remaining": limit.remaining, "resetSeconds": limit.reset_seconds}
    return {"requestId": response.request_id, "replayed": response.replayed, "rateLimit": rate_limit}


given = json.load(sys.stdin)
results = []
log = io.StringIO()
logging.basicConfig(level=logging.DEBUG, stream=log, format="%(message)s")
client = None
for name, arguments, options in given["calls"]:
    try:
        client = client or psi.Client(
            attempts=given["attempts"], max_wait=given["maxWaitSeconds"], timeout=given["timeoutSeconds"]
        )
        result = call(client, name, arguments, options)
        outcome = {"result": plain(result)}
        with suppress(TypeError):
            outcome["response"] = parts(psi.response_of(result))
        results.append(outcome)
    except (psi.PsiError, ValueError) as error:
        results.append(
            {
                "raised": type(error).__name__,
                "text": str(error),
                "isTemporary": getattr(error, "is_temporary", None),
                "status": getattr(error, "status", None),
                "error": getattr(error, "error", None),
                "message": getattr(error, "message", None),
                "requestId": getattr(error, "request_id", None),
                "fieldErrors": getattr(error, "field_errors", None),
                "response": parts(error.response) if isinstance(error, psi.ApiError) else None,
            }
        )
results[-1]["log"] = log.getvalue().splitlines()
json.dump(results, sys.stdout)
