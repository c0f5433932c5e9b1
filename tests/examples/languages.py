"""The languages that there are examples in: what each needs, and how its programs are built and run.

A driver signs many requests with an example, so that each language starts but once. It reads texts that
end with a NUL each: the secret, and then method, target, timestamp, Idempotency-Key and body of each
request. It writes canonical request and signature in the same way, or "refused" and nothing.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest

from docs_site.conf import example_files
from partners.authentication import signatures
from tests.support.timeouts import WAIT_SECONDS

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
DRIVERS = Path(__file__).parent / "drivers"
Command = tuple[str, ...]

# Nothing of the machine's own: no proxy, no settings of ours, and UTF-8 wherever a program asks the locale.
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "LC_ALL": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "GOFLAGS": "-mod=mod",
    "GOPROXY": "off",
}


@dataclass(frozen=True)
class Language:
    """A language. needs: its programs. builds: what compiles it; client, driver: what runs the two. client: nothing
    where the client is a module alone."""

    name: str
    needs: Sequence[str]
    client: Command
    driver: Command
    builds: Sequence[Command] = ()

    def __str__(self) -> str:
        return self.name


PYTHON = Language("python", [sys.executable], (), (sys.executable, "vectors.py"))
NODE = Language("node", ["node"], (), ("node", "vectors.mjs"))
BASH = Language("bash", ["bash", "openssl", "curl"], ("bash", "psi.sh"), ("bash", "vectors.sh"))
PHP = Language("php", ["php"], ("php", "psi.php"), ("php", "vectors.php"))
# For a program that runs for a moment.
QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
JAVA = Language(
    "java",
    ["java", "javac"],
    ("java", *QUICK_START, "Psi"),
    ("java", *QUICK_START, "Vectors"),
    [("javac", "-Xlint:all", "-Werror", "Psi.java", "Vectors.java")],
)
GO = Language(
    "go",
    ["go"],
    ("./psi",),
    ("./vectors",),
    [("go", "build", "-o", "psi", "psi.go"), ("go", "build", "-o", "vectors", "psi.go", "vectors.go")],
)
# Those of files with a command line, and all.
COMMAND_LINES = [BASH, PHP, JAVA, GO]
LANGUAGES = [PYTHON, NODE, *COMMAND_LINES]
# The languages of scripts that are shown on pages, by the ends of their names.
PROGRAMS = {".py": (PYTHON, sys.executable), ".mjs": (NODE, "node"), ".sh": (BASH, "bash")}


@dataclass(frozen=True)
class Workshop:
    """A folder that holds the examples side by side, as a partner would keep them."""

    folder: Path

    def run(
        self, command: Command, environment: Mapping[str, str] | None = None, given: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        """Runs a program here, with nothing in its environment but what is said."""
        caches = {"GOCACHE": str(self.folder / ".go"), "HOME": str(self.folder)}
        return subprocess.run(
            command,
            cwd=self.folder,
            env=ENVIRONMENT | caches | dict(environment or {}),
            input=given,
            capture_output=True,
            timeout=WAIT_SECONDS,
            check=False,
        )

    def start(self, command: Command, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Starts a program that does not end by itself. Its output goes to `<name of the program>.out`."""
        with (self.folder / f"{command[-1]}.out").open("ab") as output:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                env=ENVIRONMENT | {"HOME": str(self.folder)} | dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def built(self, language: Language) -> "Workshop":
        """This workshop, where the language's programs are ready to run; skips where they cannot be built."""
        for program in language.needs:
            require(program)
        done = self.folder / f".{language}"
        for command in [] if done.exists() else language.builds:
            build = self.run(command)
            assert build.returncode == 0, build.stderr.decode()
        done.touch()
        return self


def workshop(folder: Path) -> Workshop:
    """A workshop in a new folder."""
    for name, path in example_files().items():
        if path.parent.name != "go_live":
            shutil.copy(path, folder / name)
    for path in DRIVERS.iterdir():
        if path.is_file() and path.name != "__init__.py":
            shutil.copy(path, folder)
    return Workshop(folder)


def require_npm_packages(folder: Path) -> None:
    """Lets Node.js programs in a folder import the packages of tests/npm; skips or fails a test without them."""
    packages = ROOT / ".local" / "npm" / "node_modules"
    if not packages.is_dir():
        _missing("the packages of tests/npm are not installed: make .local/npm/.installed")
    if not (link := folder / "node_modules").exists():
        link.symlink_to(packages)


def require(program: str) -> None:
    """Skips a test without this program; fails it where REQUIRE_TOOLCHAINS says that all are there."""
    if shutil.which(program) is None:
        _missing(f"{program} is not on the PATH")


def require_node(version: int) -> None:
    """Skips a test without Node.js of this version or a newer one; fails it as `require` does."""
    require("node")
    found = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if int(found.removeprefix("v").partition(".")[0]) < version:
        _missing(f"Node.js {version} or newer is not on the PATH")


def require_php_extension(name: str) -> None:
    """Skips a test without PHP and this extension; fails it as `require` does."""
    require("php")
    if name not in subprocess.run(["php", "-m"], capture_output=True, text=True, check=True).stdout.split():
        _missing(f"PHP's extension {name} is not installed: apt-get install php-{name}")


def _missing(cause: str) -> None:
    if os.environ.get("REQUIRE_TOOLCHAINS") == "1":
        pytest.fail(cause)
    pytest.skip(cause)


@dataclass(frozen=True)
class Signed:
    """A request to sign, as a driver takes it."""

    method: str
    target: str
    timestamp: str = "2026-01-15T10:30:00Z"
    key: str = ""
    body: str = ""

    def fields(self) -> tuple[str, ...]:
        return self.method, self.target, self.timestamp, self.key, self.body


def sign_all(place: Workshop, language: Language, secret: str, requests: Sequence[Signed]) -> Iterator[tuple[str, str]]:
    """Canonical request and signature of each, as the example in this language has them."""
    texts = [secret, *(field for request in requests for field in request.fields())]
    done = place.built(language).run(language.driver, given="".join(f"{text}\0" for text in texts).encode())
    assert (done.returncode, done.stderr) == (0, b"")
    written = done.stdout.decode().split("\0")[:-1]
    assert len(written) == 2 * len(requests)
    return zip(written[::2], written[1::2], strict=True)


# The published vectors, and what the service makes of a request

PUBLISHED: dict[str, Any] = json.loads((ROOT / "docs" / "signing-vectors.json").read_text())
API_KEY: str = PUBLISHED["apiKey"]
SECRET: str = PUBLISHED["secret"]
VECTORS: list[dict[str, Any]] = PUBLISHED["vectors"]
REFUSED: list[dict[str, Any]] = PUBLISHED["refused"]


def target(request: dict[str, Any]) -> str:
    """Path and query of a vector, as in the first line of an HTTP request."""
    return str(request["path"] + (f"?{request['query']}" if request["query"] else ""))


def signed(vector: dict[str, Any]) -> Signed:
    """A vector as a driver takes it."""
    return Signed(vector["method"], target(vector), vector["timestamp"], vector["idempotencyKey"], vector["body"])


def by_the_service(request: Signed, secret: str) -> tuple[str, str]:
    """Canonical request and signature. Raises signatures.NotUtf8Error."""
    path, _, query = request.target.partition("?")
    body = request.body.encode()
    canonical = signatures.canonical_request(
        request.method, unquote_to_bytes(path), query.encode(), request.timestamp, request.key, body
    )
    return canonical, signatures.sign(secret, canonical)
