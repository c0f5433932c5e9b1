"""How the examples are called on the command line."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.examples.languages import Language, Workshop


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
