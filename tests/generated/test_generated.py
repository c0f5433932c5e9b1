"""Clients that partners generate take every field and keep added values; `pattern`s compile in their languages.

`make generated-test` installs the generators.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from docs_site.reference import description
from tests.examples.languages import ENVIRONMENT, ROOT, require, require_php_extension
from tests.lint.test_openapi import patterns
from tests.support.timeouts import WAIT_SECONDS

PROGRAMS = Path(__file__).parent / "programs"
OPENAPI = ROOT / "docs" / "openapi.yaml"
GENERATORS = ROOT / ".local" / "generators" / "bin"
CLIENT_SETTINGS = PROGRAMS.parent / "generated_client.yaml"
DOCUMENT: dict[str, Any] = description()
SCHEMAS = DOCUMENT["components"]["schemas"]
OBJECTS = [name for name, schema in SCHEMAS.items() if "properties" in schema]
# Makes a client in a folder, and returns the command that reads fields by it.
Client = Callable[[Path], list[str]]
# Generators compile for minutes on a busy machine.
BUILD_SECONDS = 5 * WAIT_SECONDS


def run(*command: str | Path, folder: Path, given: str = "") -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=ENVIRONMENT | {"HOME": str(folder), "GOCACHE": str(folder / ".go"), "PYTHONPATH": str(folder)},
        input=given,
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def openapi_generator(language: str, folder: Path) -> None:
    run(GENERATORS / "openapi-generator-cli", "generate", "-g", language, "-i", OPENAPI, "-o", ".", folder=folder)


def go(folder: Path) -> list[str]:
    require("go")
    openapi_generator("go", folder)
    # Debian's Go is older than the one that the generator asks for.
    module = folder / "go.mod"
    text = re.sub(r"(?m)^go .*$", "go 1.19", module.read_text())
    # Of a module that the generator checks alternatives with, what it calls: tests load nothing from the network.
    (folder / "validator").mkdir()
    (folder / "validator" / "go.mod").write_text("module gopkg.in/validator.v2\n\ngo 1.19\n")
    (folder / "validator" / "validator.go").write_text("package validator\n\nfunc Validate(any) error { return nil }\n")
    module.write_text(f"{text}\nreplace gopkg.in/validator.v2 => ./validator\n")
    shutil.rmtree(folder / "test")
    models = "\n".join(f'\t"{name}": func() any {{ return &psi.{name}{{}} }},' for name in OBJECTS)
    program = (PROGRAMS / "fields.go").read_text().replace("// MODELS", models)
    (folder / "fields").mkdir()
    (folder / "fields" / "main.go").write_text(program)
    run("go", "vet", ".", folder=folder)
    run("go", "build", "-o", "read", "./fields", folder=folder)
    return ["./read"]


def php(folder: Path) -> list[str]:
    require_php_extension("mbstring")
    openapi_generator("php", folder)
    return ["php", str(PROGRAMS / "fields.php")]


def datamodel(folder: Path) -> list[str]:
    options = ("--input-file-type", "openapi", "--output-model-type", "pydantic_v2.BaseModel", "--output", "models.py")
    run(GENERATORS / "datamodel-codegen", "--input", OPENAPI, *options, folder=folder)
    assert re.findall(r"class (\w*Type\d+)", (folder / "models.py").read_text()) == []
    return [str(GENERATORS / "python"), str(PROGRAMS / "fields_datamodel.py")]


def python_client(folder: Path) -> list[str]:
    options = ("--output-path", "client", "--meta", "none", "--fail-on-warning", "--config", CLIENT_SETTINGS)
    generate = (sys.executable, "-m", "openapi_python_client", "generate")
    run(*generate, "--path", OPENAPI, *options, folder=folder)
    assert [path.name for path in folder.glob("client/models/*type_[0-9]*.py")] == []
    return [sys.executable, str(PROGRAMS / "fields_client.py")]


@pytest.fixture(scope="module", params=[go, php, datamodel, python_client], ids=lambda make: make.__name__)
def read(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], list[Any]]:
    """Has a generated client read values, each with the name of its schema; returns what it writes of them."""
    folder = tmp_path_factory.mktemp(request.param.__name__)
    command = request.param(folder)

    def read(given: list[tuple[str, Any]]) -> list[Any]:
        lines = [json.dumps({"schema": name, "value": value}) for name, value in given]
        written = run(*command, folder=folder, given="".join(f"{line}\n" for line in lines))
        return [normal(json.loads(line)) for line in written.splitlines()]

    return read


def normal(value: Any) -> Any:
    """A value in which date-times of any form are of one."""
    if isinstance(value, dict):
        return {name: normal(one) for name, one in value.items()}
    if isinstance(value, list):
        return [normal(one) for one in value]
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)", value):
        return datetime.fromisoformat(value).isoformat()
    return value


def whole(name: str) -> dict[str, Any]:
    """An object of a schema with every field, from the examples of its fields."""
    return {field: one["examples"][0] for field, one in SCHEMAS[name]["properties"].items()}


def growing() -> Iterator[tuple[str, dict[str, Any]]]:
    """Objects with a value that is newer than the description, one for each field where one may be."""
    for name in OBJECTS:
        for field, one in SCHEMAS[name]["properties"].items():
            if "x-extensible-enum" in one:
                yield name, whole(name) | {field: "addedLater"}
            elif "x-extensible-enum" in one.get("items", {}):
                yield name, whole(name) | {field: ["addedLater"]}


def test_every_field_is_taken(read: Callable[[Any], list[Any]]) -> None:
    given = [(name, whole(name)) for name in OBJECTS]
    assert dict(zip(OBJECTS, read(given), strict=True)) == {name: normal(value) for name, value in given}


def test_added_values_are_kept(read: Callable[[Any], list[Any]]) -> None:
    given = [*growing()]
    assert {"Requirement", "UserSummary", "StatusChanged", "Webhook"} <= {name for name, _ in given}
    assert read(given) == [normal(value) for _, value in given]


@pytest.mark.parametrize(
    "command",
    [("node", "patterns.mjs"), ("go", "run", "patterns.go"), ("php", "patterns.php"), ("java", "Patterns.java")],
)
def test_patterns_compile(command: tuple[str, ...], tmp_path: Path) -> None:
    require(command[0])
    shutil.copy(PROGRAMS / command[-1], tmp_path)
    found = sorted(set(patterns(DOCUMENT)))
    assert len(found) > 10
    run(*command, folder=tmp_path, given="".join(f"{pattern}\0" for pattern in found))
