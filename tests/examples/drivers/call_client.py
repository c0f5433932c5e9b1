"""Makes the calls that it reads with psi.py, as tests/examples/calling.py has them, and writes the results."""

import asyncio
import json
import re
import sys
from typing import Any

import httpx

import psi

given = json.load(sys.stdin)
# Options that have another name in Python.
NAMES = {"query": "params", "body": "content", "maxWaitMs": "max_wait", "toleranceMs": "tolerance"}


def named(options: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for key, value in options.items():
        name = NAMES.get(key) or re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", key)
        found[name] = value / 1000 if key.endswith("Ms") else value
    return found


def plain(response: httpx.Response) -> dict[str, Any]:
    return {"status": response.status_code, "headers": dict(response.headers), "hex": response.content.hex()}


def call(settings: dict[str, Any], name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
    if name == "send" and given["language"] == "asyncio":
        return asyncio.run(send_async(settings, arguments, options))
    with httpx.Client(**settings) as client:
        if name == "send":
            return plain(psi.send(client, *arguments, **named(options)))
        if name == "findWrite":
            return psi.find_write(client, *arguments)
        iterate: Any = {"items": psi.items, "events": psi.events}[name]
        return list(iterate(client, *arguments, **named(options.pop("query", options))))


def call_offline(name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
    if name == "path":
        return psi.path(*arguments)
    if name == "settings":
        psi.options(*arguments)
        return None
    body, *more = arguments
    return psi.verify_webhook(body.encode(), *more, **named(options))


async def send_async(settings: dict[str, Any], arguments: list[Any], options: dict[str, Any]) -> Any:
    async with httpx.AsyncClient(**settings) as client:
        return plain(await psi.send_async(client, *arguments, **named(options)))


results: list[dict[str, Any]] = []
for name, arguments, options in given["calls"]:
    try:
        if name in {"path", "settings", "verifyWebhook"}:
            results.append({"result": call_offline(name, arguments, options)})
        else:
            settings = psi.options() | {"timeout": given["timeoutMs"] / 1000}
            results.append({"result": call(settings, name, arguments, options)})
    except (psi.PsiError, ValueError) as error:
        names = {"isTemporary": "is_temporary", "requestId": "request_id", "fieldErrors": "field_errors"}
        names |= {"status": "status", "error": "error", "reason": "message"}
        parts = {wire: getattr(error, name, None) for wire, name in names.items()}
        results.append({"raised": type(error).__name__, "text": str(error)} | parts)
json.dump(results, sys.stdout)
