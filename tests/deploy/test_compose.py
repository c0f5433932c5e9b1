"""compose.yaml and the Containerfile against what is there: files, settings, and the account that may do nothing."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.containerfile import read

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = (DEPLOY / "compose.yaml").read_text()
SERVICES: dict[str, Any] = yaml.safe_load(COMPOSE)["services"]
OF_THE_SERVICE = ["service-a", "service-b", "migrate", "purge"]
# What the service reads, besides what it has from the image (HOST, PORT).
KNOWN = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', (ROOT / "config" / "settings.py").read_text())) | {"PGOPTIONS"}


@pytest.mark.parametrize("name", SERVICES)
def test_what_is_mounted_from_here_is_here(name: str) -> None:
    for volume in SERVICES[name].get("volumes", []):
        source = volume.partition(":")[0]
        assert not source.startswith(".") or (DEPLOY / source).exists(), source


def test_every_value_that_is_asked_for_is_in_the_example_and_no_other() -> None:
    asked_for = set(re.findall(r"\$\{(\w+)(?::\?)\}", COMPOSE))
    example = (DEPLOY / "compose" / "environment.example").read_text()
    assert asked_for == set(re.findall(r"^(\w+)=", example, re.MULTILINE))
    assert not re.search(r"^\w*(PASSWORD|KEYS?)=.", example, re.MULTILINE)


@pytest.mark.parametrize("name", OF_THE_SERVICE)
def test_the_service_gets_settings_that_it_reads(name: str) -> None:
    assert set(SERVICES[name]["environment"]) <= KNOWN
    assert ("OWNER_DATABASE_URL" in SERVICES[name]["environment"]) == (name == "migrate")


@pytest.mark.parametrize("name", [*OF_THE_SERVICE, "nginx", "redis"])
def test_a_container_cannot_write_to_its_root_or_gain_rights(name: str) -> None:
    confined = SERVICES[name]
    assert (confined["read_only"], confined["cap_drop"]) == (True, ["ALL"])
    assert confined["security_opt"] == ["no-new-privileges:true"]


def test_nobody_but_nginx_is_reached_from_outside() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["nginx"]
    assert all(SERVICES[name]["networks"] == ["inside"] for name in ("postgres", "redis"))


def test_nginx_is_told_of_each_service() -> None:
    staff_port = SERVICES["service-a"]["environment"]["STAFF_PORT"]
    for name, port in {"servers.conf": "8000", "staff_servers.conf": staff_port}.items():
        told = re.findall(r"^server ([\w-]+):(\d+)", (DEPLOY / "compose" / name).read_text(), re.MULTILINE)
        assert told == [("service-a", port), ("service-b", port)]


def test_the_script_of_the_first_start_is_one_that_a_shell_reads() -> None:
    subprocess.run(["/bin/sh", "-n", DEPLOY / "compose" / "owner.sh"], check=True)


def test_the_image_has_all_of_the_service_and_nothing_of_this_checkout_besides() -> None:
    build = read(DEPLOY / "Containerfile")[1]
    sources = [step.words[0] for step in build.steps if step.name == "COPY"]
    assert all((ROOT / source).exists() for source in sources)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(project["tool"]["importlinter"]["root_packages"]) <= set(sources)
    assert not {".", ".env", "tests", "docs", "requirements"} & set(sources)


def test_what_the_image_starts_is_what_is_served_everywhere() -> None:
    last = read(DEPLOY / "Containerfile")[-1]
    found = {step.name: step.text for step in last.steps}
    assert found["USER"] == "10001:10001"
    assert found["ENTRYPOINT"] == '["/srv/psi/.venv/bin/python"]'
    assert found["CMD"] == '["-m", "config.serve"]'
    assert subprocess.run([sys.executable, "-c", "import config.serve"], cwd=ROOT, check=False).returncode == 0
