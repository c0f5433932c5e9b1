"""Calls the modules of both packages alike: by the names of the one for Node.js, with JSON between."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.examples.calling import Access
from tests.examples.languages import NODE, PYTHON, Language, Workshop

# With `send_async` in place of `send`.
ASYNCIO = replace(PYTHON, name="asyncio")
LANGUAGES = [PYTHON, ASYNCIO, NODE]
Call = tuple[str, tuple[Any, ...], dict[str, Any]]


def call(name: str, *arguments: Any, **options: Any) -> Call:
    """A call of a function, without its first argument, the client."""
    return name, arguments, options


def send(method: str, path: str, json: Any = None, /, **options: Any) -> Call:
    """A call of `send`."""
    return "send", (method, path), options if json is None else {"json": json} | options


@dataclass(frozen=True)
class DrivenClient:
    """The module of one language, a program for each list of calls."""

    place: Workshop
    language: Language
    access: Access

    def outcomes(
        self, *calls: Call, timeout_ms: int = 30_000, settings: Mapping[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """Return the `result` of each call, or what was `raised`."""
        given = {"calls": calls, "language": self.language.name, "timeoutMs": timeout_ms}
        # Named like the driver of the vectors, and in its language.
        *program, driver = self.language.driver
        command = (*program, driver.replace("vectors", "call_client"))
        environment = self.access.environment(**(settings or {}))
        done = self.place.run(command, environment, json.dumps(given).encode())
        assert done.returncode == 0, done.stderr.decode()
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found

    def results(self, *calls: Call) -> list[Any]:
        """The result of each call, all of which succeed; of a response its JSON."""
        outcomes = self.outcomes(*calls)
        assert all("result" in one for one in outcomes), outcomes
        return [
            json.loads(bytes.fromhex(one["result"]["hex"])) if name == "send" else one["result"]
            for (name, *_), one in zip(calls, outcomes, strict=True)
        ]
