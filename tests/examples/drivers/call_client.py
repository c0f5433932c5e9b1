"""Makes the calls that it reads with the client, as tests/examples/driven.py has them, and writes the results.

With a `package`, the client is that of psi.aio in it.
"""

import asyncio
import io
import json
import logging
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import suppress
from typing import Any

given = json.load(sys.stdin)
if "package" in given:
    sys.path.insert(0, given["package"])
import psi  # noqa: E402 - from there

if "package" in given:
    import psi.aio


def snake_case(name: str) -> str:
    return re.sub("[A-Z0-9]+", lambda found: f"_{found[0].lower()}", name) if name != "sha256" else name


async def plain(value: Any) -> Any:
    """A result as JSON has it."""
    if isinstance(value, psi.Events):
        return [{"event": event, "cursor": value.cursor} for event in value]
    if isinstance(value, Iterator):
        return list(value)
    if "package" in given and isinstance(value, psi.aio.AsyncEvents):
        return [{"event": event, "cursor": value.cursor} async for event in value]
    if isinstance(value, AsyncIterator):
        return [one async for one in value]
    if isinstance(value, psi.Response):
        return {"status": value.status, "body": value.body.decode()}
    return {"hex": value.hex()} if isinstance(value, bytes) else value


async def call(client: Any, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
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
        await finished(client.download_document(external_id, document_id, file, **named))
        return file.getvalue().removeprefix(b"before")
    *parts, name = name.split(".")
    return await finished(getattr(client.sandbox if parts else client, snake_case(name))(*arguments, **named))


async def finished(value: Any) -> Any:
    return await value if isinstance(value, Awaitable) else value


def parts(response: psi.Response) -> dict[str, Any]:
    limit = response.rate_limit
    rate_limit = limit and {"limit": limit.limit, "remaining": limit.remaining, "resetSeconds": limit.reset_seconds}
    return {"requestId": response.request_id, "replayed": response.replayed, "rateLimit": rate_limit}


async def main() -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    client = None
    made = psi.aio.AsyncClient if "package" in given else psi.Client
    settings = {"attempts": given["attempts"], "max_wait": given["maxWaitSeconds"], "timeout": given["timeoutSeconds"]}
    for name, arguments, options in given["calls"]:
        try:
            client = client or made(**settings)
            result = await call(client, name, arguments, options)
            outcome = {"result": await plain(result)}
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
    if client:
        await finished(client.close())
    return results


log = io.StringIO()
logging.basicConfig(stream=log, format="%(message)s")
logging.getLogger("psi").setLevel(logging.DEBUG)
results = asyncio.run(main())
results[-1]["log"] = log.getvalue().splitlines()
json.dump(results, sys.stdout)
