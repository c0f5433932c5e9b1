"""Calls the client packages of both languages alike: by the names of the Node.js client, with JSON between."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.examples.calling import Access
from tests.examples.languages import NODE, PYTHON, ROOT, Language, Workshop

# The client of psi.aio, which is in the package alone.
ASYNCIO = replace(PYTHON, name="asyncio")
LANGUAGES = [PYTHON, ASYNCIO, NODE]


def call(name: str, *arguments: Any, **options: Any) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """A call of a method; a body of `request` is an argument, and pages have their query as options."""
    return name, arguments, options


@dataclass(frozen=True)
class DrivenClient:
    """The client of one language, a program for each list of calls."""

    place: Workshop
    language: Language
    access: Access

    def outcomes(
        self,
        *calls: tuple[str, tuple[Any, ...], dict[str, Any]],
        attempts: int = 3,
        max_wait: float = 5,
        timeout: float = 30,
        settings: Mapping[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """Return the `result` of each call, or what was `raised`."""
        given: dict[str, Any] = {
            "calls": calls,
            "attempts": attempts,
            "maxWaitSeconds": max_wait,
            "timeoutSeconds": timeout,
        }
        if self.language is ASYNCIO:
            given["package"] = str(ROOT / "clients" / "python" / "src")
        environment = self.access.environment(**(settings or {}))
        # Named like the driver of the vectors, and in its language.
        *program, driver = self.language.driver
        command = (*program, driver.replace("vectors", "call_client"))
        done = self.place.run(command, environment, json.dumps(given).encode())
        assert done.returncode == 0, done.stderr.decode()
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found

    def results(self, *calls: tuple[str, tuple[Any, ...], dict[str, Any]], **options: Any) -> list[Any]:
        """The result of each call, all of which succeed."""
        outcomes = self.outcomes(*calls, **options)
        assert all("result" in one for one in outcomes), outcomes
        return [one["result"] for one in outcomes]
