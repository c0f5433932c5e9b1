"""The packages as they are installed: from the checkout and from /docs, with types that the description gives."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import psi
import psi.types
from clients import commonjs, schemas
from config.description import openapi_json
from portal import client_packages
from tests.examples.languages import ENVIRONMENT, ROOT, require, require_npm_packages
from tests.support.client import in_process
from tests.support.timeouts import WAIT_SECONDS

CLIENTS = ROOT / "clients"
DESCRIPTION: dict[str, Any] = json.loads(openapi_json())
SCHEMAS = schemas.schemas(DESCRIPTION)["components"]["schemas"]
NODE_TYPES = CLIENTS / "node" / "types.d.mts"
OPERATIONS = [
    operation["operationId"]
    for path, node in DESCRIPTION["paths"].items()
    for method, operation in node.items()
    if method != "parameters"
]
WRITTEN = [
    CLIENTS / "python" / "src" / "psi" / "__init__.py",
    CLIENTS / "node" / "psi.mjs",
    CLIENTS / "node" / "psi.d.mts",
]


def run(*command: str | Path, folder: Path, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=ENVIRONMENT | {"HOME": str(folder)} | environment,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def downloaded(name: str, folder: Path) -> Path:
    """An archive as the docs serve it."""
    response = in_process("GET", f"/docs/clients/{name}", {}, b"")
    assert (response.status, response.header("Content-Type")) == (200, "application/gzip")
    path = folder / name
    path.write_bytes(response.body)
    return path


# Types


@pytest.mark.parametrize("name", [name for name, one in SCHEMAS.items() if "properties" in one])
def test_a_type_has_the_fields_of_its_schema(name: str) -> None:
    schema = SCHEMAS[name]
    hints = get_type_hints(getattr(psi.types, name), include_extras=True)
    optional = {field for field, hint in hints.items() if str(hint).startswith("typing.NotRequired")}
    assert hints.keys() == schema["properties"].keys(), "Run `make client-types`."
    assert optional == schema["properties"].keys() - set(schema.get("required", []))
    declared = re.search(rf"^ {{8}}{name}: {{\n(.*?)^ {{8}}}};\n", NODE_TYPES.read_text(), re.DOTALL | re.MULTILINE)
    assert declared
    fields = re.findall(r"^ {12}(\w+)(\??): ", declared[1], re.MULTILINE)
    assert {field: bool(mark) for field, mark in fields} == {field: field in optional for field in hints}


def test_errors_are_no_types_and_values_may_be_added_where_the_description_says_so() -> None:
    kind = {"type": ["string", "null"], "x-extensible-enum": ["a", "b"]}
    fields = {"kind": kind, "country": {"type": "string", "x-extensible-enum": [str(one) for one in range(21)]}}
    newer = {"properties": {"type": {"type": "string", "not": {"enum": ["a"]}}}}
    reference = {name: {"$ref": f"#/components/schemas/{name}"} for name in ("Received", "Newer", "Failed")}
    everything: dict[str, Any] = {
        "Received": {"properties": fields},
        "Newer": newer,
        "Event": {"oneOf": [reference["Received"], reference["Newer"]]},
        "Failed": {"properties": fields},
    }
    responses = {"200": {"schema": reference["Received"]}, "400": {"schema": reference["Failed"]}}
    paths = {"/v1/a": {"get": {"responses": responses}}}
    document = {"openapi": "3.1.0", "info": {}, "paths": paths, "components": {"schemas": everything}}
    received = {
        "kind": {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "string"}, {"type": "null"}]},
        "country": {"type": "string"},
    }
    assert schemas.schemas(document) == document | {
        "paths": {},
        "components": {
            "schemas": {
                "Received": {"properties": received},
                "Newer": newer,
                "Event": {"oneOf": [reference["Received"]]},
            }
        },
    }


# CommonJS


@pytest.mark.parametrize("path", commonjs.texts(), ids=lambda path: path.name)
def test_the_commonjs_files_are_those_of_the_module(path: Path) -> None:
    assert path.read_text() == commonjs.texts()[path], "Run `make client-types`."


def test_it_is_required_from_commonjs(tmp_path: Path) -> None:
    require("node")
    installed = tmp_path / "node_modules" / "partner-service-interface-client"
    installed.parent.mkdir()
    installed.symlink_to(CLIENTS / "node")
    program = """
        const { Client, PsiError, ConfigurationError } = require("partner-service-interface-client");
        try { new Client(); } catch (error) { console.log(error instanceof PsiError, error.message); }
    """
    (tmp_path / "program.cjs").write_text(program)
    assert run("node", "program.cjs", folder=tmp_path) == "true PSI_BASE_URL is not set\n"


# Code


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_operation_has_a_method(operation: str) -> None:
    # A list is an iterator: listUsers is `users`.
    listed = re.fullmatch("list([A-Z])(.*)", operation.replace("SandboxR", "R"))
    name = f"{listed[1].lower()}{listed[2]}" if listed else operation.replace("SandboxR", "R")
    python = re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)
    assert hasattr(psi.Client, python) or hasattr(psi.Sandbox, python)
    for path in WRITTEN[1:]:
        assert re.search(rf"^  (async )?{name}\(", path.read_text(), re.MULTILINE), path.name


def test_the_declarations_are_those_of_the_module() -> None:
    module, declarations = (path.read_text() for path in WRITTEN[1:])
    exported = set(re.findall(r"^export (?:async )?(?:function|class) (\w+)", module, re.MULTILINE))
    declared = set(re.findall(r"^export declare (?:const|function|class) (\w+)", declarations, re.MULTILINE))
    assert exported == declared
    for name in ("Client", "Sandbox"):
        [body] = re.findall(rf"^export class {name} \{{(.*?)^\}}", module, re.MULTILINE | re.DOTALL)
        methods = set(re.findall(r"^  (?:async |get )?\*?([a-z]\w+)\(", body, re.MULTILINE))
        [shown] = re.findall(rf"^export declare class {name} \{{(.*?)^\}}", declarations, re.MULTILINE | re.DOTALL)
        assert set(re.findall(r"^  (?:get |private )?([a-z]\w+)[(<]", shown, re.MULTILINE)) == methods


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_it_is_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 1050


def test_both_packages_have_one_version() -> None:
    python = tomllib.loads((CLIENTS / "python" / "pyproject.toml").read_text())["project"]
    node = json.loads((CLIENTS / "node" / "package.json").read_text())
    assert (python["name"], python["version"], python["dependencies"]) == (node["name"], node["version"], [])
    # The client for asyncio alone needs a library.
    assert list(python["optional-dependencies"]) == ["async"]
    assert "dependencies" not in node
    assert psi.__version__ == python["version"]
    assert f'VERSION = "{node["version"]}"' in (CLIENTS / "node" / "psi.mjs").read_text()


# Installation


def test_python_installs_it_from_the_docs(tmp_path: Path) -> None:
    run("tar", "-xzf", downloaded("psi-python.tar.gz", tmp_path), folder=tmp_path)
    # uv has the build backend in itself: nothing is downloaded.
    uv = Path(sys.executable).with_name("uv")
    run(uv, "build", "--offline", "--wheel", "--out-dir", tmp_path, tmp_path / "package", folder=tmp_path)
    [wheel] = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    run(uv, "pip", "install", "--offline", "--python", sys.executable, "--target", site, wheel, folder=tmp_path)
    assert {path.name for path in (site / "psi").glob("*") if path.is_file()} >= {
        "__init__.py",
        "aio.py",
        "types.py",
        "py.typed",
    }
    program = "import psi, psi.types; print(psi.__file__, psi.known('new', ('a', 'b'), 'other'))"
    printed = run(
        sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(site)!r}); {program}", folder=tmp_path
    )
    assert printed == f"{site / 'psi' / '__init__.py'} other\n"
    done = subprocess.run([sys.executable, "-m", "psi"], cwd=site, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "usage: python3 psi.py METHOD PATH [JSON]\n")


def test_npm_installs_it_from_the_docs(tmp_path: Path) -> None:
    require("node")
    require("npm")
    archive = downloaded("psi-node.tgz", tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    run("npm", "install", "--offline", "--no-audit", "--no-fund", archive, folder=tmp_path)
    program = 'import * as psi from "partner-service-interface-client"; console.log(psi.known("new", ["a"], "other"))'
    assert run("node", "--input-type=module", "--eval", program, folder=tmp_path) == "other\n"


def test_an_archive_is_the_same_each_time_and_an_unknown_one_is_not_found() -> None:
    client_packages.archive.cache_clear()
    first = client_packages.archive("psi-node.tgz")
    client_packages.archive.cache_clear()
    assert client_packages.archive("psi-node.tgz") == first
    assert in_process("GET", "/docs/clients/psi.tgz", {}, b"").status == 404


# Type checkers

PYTHON_PROGRAM = """
import psi
from psi.types import Conversion, NewUser

client: psi.Client = psi.Client("https://partners.example", "key", "secret")
mode: str = client.ping()["mode"]
conversions: list[Conversion] = list(client.transactions("cust-1001"))
for requirement in client.get_user("cust-1001")["requirements"]:
    if requirement["code"] == "addedLater":
        print(psi.known(requirement["code"], ("purposeOfUse", "sourceOfFunds"), "other"))
for event in client.events():
    if event["type"] == "user.statusChanged":
        print(event["data"]["status"])
"""
ASYNC_PROGRAM = """
from psi.aio import AsyncClient


async def asynchronous() -> None:
    async with AsyncClient("https://partners.example", "key", "secret") as client:
        mode: str = (await client.ping())["mode"]
        conversions: list[Conversion] = [one async for one in client.transactions("cust-1001")]
        async for event in client.events(poll_seconds=5):
            if event["type"] == "user.statusChanged":
                print(mode, conversions, event["data"]["status"])
        (await client.sandbox.simulate_decision("cust-1001", {"status": "active"}))["stauts"]
        client.ping()["mode"]


"""
PYTHON_MISTAKES = """
client.get_user("cust-1001")["stauts"]
client.update_user("cust-1001", {"town": "Ottawa"})
lacking: NewUser = {"externalId": "cust-1001"}
"""
NODE_PROGRAM = """
import { Client, known, verifyWebhook, type Conversion, type NewUser } from "partner-service-interface-client";

const client = new Client({ baseUrl: "https://partners.example", apiKey: "key", secret: "secret" });
const mode: string = (await client.ping()).mode;
const conversions: Conversion[] = [];
for await (const conversion of client.transactions("cust-1001")) conversions.push(conversion);
const [requirement] = (await client.getUser("cust-1001")).requirements;
const handled: "purposeOfUse" | "other" = known(requirement.code, ["purposeOfUse"], "other");
for await (const event of client.events()) if (event.type === "user.statusChanged") console.log(event.data.status);
console.log(mode, handled, verifyWebhook("{}", new Headers(), ["whsec_AA=="]).type);
"""
NODE_MISTAKES = """
(await client.getUser("cust-1001")).stauts;
await client.updateUser("cust-1001", { town: "Ottawa" });
const lacking: NewUser = { externalId: "cust-1001" };
"""


def test_mypy_finds_mistakes_and_only_those(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PYTHON_PROGRAM + ASYNC_PROGRAM + PYTHON_MISTAKES)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "program.py"]
    environment = ENVIRONMENT | {"MYPYPATH": str(CLIENTS / "python" / "src")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    found = {
        int(line.split(":")[1])
        for line in done.stdout.splitlines()
        if line.startswith("program.py:") and " error: " in line
    }
    first = len((PYTHON_PROGRAM + ASYNC_PROGRAM).splitlines()) + 2
    asynchronous = len(PYTHON_PROGRAM.splitlines()) + ASYNC_PROGRAM.splitlines().index('        client.ping()["mode"]')
    assert found == {asynchronous, asynchronous + 1, first, first + 1, first + 2}, done.stdout


@pytest.mark.parametrize(
    "resolution",
    [
        ("--module", "nodenext"),
        ("--module", "esnext", "--moduleResolution", "bundler"),
        ("--module", "es2022", "--moduleResolution", "node10"),
    ],
    ids=lambda options: options[-1],
)
def test_typescript_finds_mistakes_and_only_those(tmp_path: Path, resolution: tuple[str, ...]) -> None:
    require("node")
    require_npm_packages(tmp_path)
    installed = tmp_path / "lib" / "node_modules" / "partner-service-interface-client"
    installed.parent.mkdir(parents=True)
    installed.symlink_to(CLIENTS / "node")
    (tmp_path / "lib" / "package.json").write_text('{"type": "module"}')
    (tmp_path / "lib" / "program.ts").write_text(NODE_PROGRAM + NODE_MISTAKES)
    types = ("--types", "node", "--typeRoots", "../node_modules/@types")
    options = ("--strict", "--noEmit", "--target", "es2022", "--lib", "es2023,dom", *types, *resolution)
    command = ["node", "../node_modules/typescript/bin/tsc", *options, "program.ts"]
    done = subprocess.run(
        command,
        cwd=tmp_path / "lib",
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    found = {int(number) for number in re.findall(r"^program\.ts\((\d+),", done.stdout, re.MULTILINE)}
    first = len(NODE_PROGRAM.splitlines()) + 2
    assert found == {first, first + 1, first + 2}, done.stdout
