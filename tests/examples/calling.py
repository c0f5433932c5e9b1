"""How the examples are called: on the command line, and the modules of both packages alike."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.examples.languages import NODE, PYTHON, Language, Workshop


@dataclass(frozen=True)
class Access:
    """What the examples take from the environment."""

    base_url: str
    api_key: str = field(repr=False)
    secret: str = field(repr=False)

    def environment(self, **replaced: str) -> Mapping[str, str]:
        settings = {"PSI_BASE_URL": self.base_url, "PSI_API_KEY": self.api_key, "PSI_SECRET": self.secret}
        return settings | replaced


class Caller:
    """Calls the service with one language's example."""

    def __init__(self, place: Workshop, language: Language, access: Access) -> None:
        self.place, self.language, self.access = place.built(language), language, access

    def call(self, *arguments: str, **settings: str) -> tuple[int, tuple[str, str]]:
        """Exit status, and the response's status and body, a text. settings: replace those of access."""
        exit_status, (status, body) = self.fetch(*arguments, **settings)
        return exit_status, (status, body.decode())

    def fetch(self, *arguments: str, **settings: str) -> tuple[int, tuple[str, bytes]]:
        """The same, with the body's bytes."""
        done = self.place.run((*self.language.client, *arguments), self.access.environment(**settings))
        status, *others = done.stderr.decode().splitlines()
        assert others == [""]
        return done.returncode, (status, done.stdout)

    def complaint(self, *arguments: str, **settings: str) -> str:
        """What a call without a response says, after a look at what it must not say."""
        done = self.place.run((*self.language.client, *arguments), self.access.environment(**settings))
        assert done.returncode != 0
        assert done.stdout == b""
        assert self.access.secret.encode() not in done.stderr
        return done.stderr.decode()


# Modules: by the names of the one for Node.js, with JSON between

# With `send_async` in place of `send`.
ASYNCIO = replace(PYTHON, name="asyncio")
MODULES = [PYTHON, ASYNCIO, NODE]
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
