"""compose.yaml and the Containerfile: their files and settings exist, and the containers are confined."""

import os
import re
import secrets
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = (DEPLOY / "compose.yaml").read_text()
CONTAINERFILE = (DEPLOY / "Containerfile").read_text()
SERVICES: dict[str, Any] = yaml.safe_load(COMPOSE)["services"]
SERVICE_CONTAINERS = ["service", "staff", "deliverer", "migrate", "purge"]
SETTINGS = set(re.findall(r'env(?:\.\w+)?\(\s*"([A-Z_]+)"', (ROOT / "config" / "settings.py").read_text()))
# Of development; the owner's; of other machines, or with a file of its own; set by the Containerfile.
NOT_PASSED_ON = {
    *("DEBUG", "STAFF_MFA_REQUIRED", "WEBHOOK_ALLOW_LOOPBACK", "OWNER_DATABASE_URL"),
    *("REPLICA_DATABASE_URL", "WEBHOOK_CA_BUNDLE", "HOST", "PORT"),
}


@pytest.mark.parametrize("name", SERVICES)
def test_mounted_files_exist(name: str) -> None:
    for volume in SERVICES[name].get("volumes", []):
        source = volume.partition(":")[0]
        assert not source.startswith(".") or (DEPLOY / source).exists(), source


def test_the_example_has_exactly_the_required_variables() -> None:
    required = set(re.findall(r"\$\{(\w+)(?::\?)\}", COMPOSE))
    example = (DEPLOY / "compose" / "environment.example").read_text()
    assert required == set(re.findall(r"^(\w+)=", example, re.MULTILINE))
    assert not re.search(r"^\w*(PASSWORD|KEYS?)=.", example, re.MULTILINE)


def test_the_example_names_the_optional_variables_too() -> None:
    optional = set(re.findall(r"\$\{(\w+):-", COMPOSE))
    example = (DEPLOY / "compose" / "environment.example").read_text()
    assert optional == set(re.findall(r"^#(\w+)=", example, re.MULTILINE))


@pytest.mark.parametrize("name", SERVICE_CONTAINERS)
def test_the_service_gets_all_settings(name: str) -> None:
    # PGOPTIONS is libpq's.
    owners = {"OWNER_DATABASE_URL", "PGOPTIONS"} if name == "migrate" else set()
    assert set(SERVICES[name]["environment"]) == SETTINGS - NOT_PASSED_ON | owners


def test_the_settings_of_the_required_variables_alone_are_accepted() -> None:
    """As Compose renders them: an optional variable has its default, which may be empty."""
    required = {name: secrets.token_urlsafe(50) for name in ("SECRET_KEY", "SECRETS_ENCRYPTION_KEYS")}
    required |= {"ALLOWED_HOSTS": "partners.example", "SERVICE_PASSWORD": "x"}

    def rendered(match: re.Match[str]) -> str:
        return required[match[1]] if match[2].startswith(":?") else match[2].removeprefix(":-")

    settings = {
        name: re.sub(r"\$\{(\w+)([^}]*)\}", rendered, value)
        for name, value in SERVICES["service"]["environment"].items()
    }
    # Each other one is empty, so that the checkout's `.env` has no effect.
    environment = {"PATH": os.environ["PATH"], "DEBUG": "false", "STAFF_MFA_REQUIRED": "true"} | settings
    environment |= dict.fromkeys(("OWNER_DATABASE_URL", "REPLICA_DATABASE_URL", "WEBHOOK_CA_BUNDLE"), "")
    command = [sys.executable, "-c", "import config.settings"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", [*SERVICE_CONTAINERS, "nginx", "redis"])
def test_a_container_cannot_write_to_its_root_or_gain_privileges(name: str) -> None:
    confined = SERVICES[name]
    assert (confined["read_only"], confined["cap_drop"]) == (True, ["ALL"])
    assert confined["security_opt"] == ["no-new-privileges:true"]


def test_only_nginx_has_published_ports() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["nginx"]
    assert all(SERVICES[name]["networks"] == ["inside"] for name in ("postgres", "redis"))


def test_both_purges_run() -> None:
    [script] = SERVICES["purge"]["command"]
    assert [command.split()[2] for command in script.split(";")] == ["purge_expired", "clearsessions"]


def test_events_are_delivered_from_the_database_to_the_internet() -> None:
    deliverer = SERVICES["deliverer"]
    assert deliverer["command"] == ["manage.py", "deliver_events", "--json"]
    assert deliverer["networks"] == ["inside", "outside"]
    assert deliverer["restart"] == "unless-stopped"
    # Longer than the 20 s that it takes to end; and no other service waits for it.
    assert deliverer["stop_grace_period"] == "25s"
    assert all("deliverer" not in service.get("depends_on", {}) for service in SERVICES.values())


def test_nginx_has_the_services_as_upstreams() -> None:
    assert SERVICES["service"]["deploy"] == {"replicas": 2}
    for file, name in {"servers.conf": "service", "staff_servers.conf": "staff"}.items():
        servers = re.findall(r"^server (\S+) ", (DEPLOY / "compose" / file).read_text(), re.MULTILINE)
        assert servers == [f"{name}:8000"]
        assert SERVICES["nginx"]["depends_on"][name] == {"condition": "service_healthy"}


def test_the_database_script_is_valid_shell() -> None:
    subprocess.run(["/bin/sh", "-n", DEPLOY / "compose" / "owner.sh"], check=True)


def test_the_image_has_the_service_and_nothing_else_of_the_checkout() -> None:
    sources = set(re.findall(r"^COPY (?!--from)(\S+)", CONTAINERFILE, re.MULTILINE))
    assert all((ROOT / source).exists() for source in sources)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(project["tool"]["importlinter"]["root_packages"]) <= sources
    assert not {".", ".env", "tests", "docs", "requirements"} & sources


def test_the_image_starts_the_server_without_privileges() -> None:
    for line in ("USER 10001:10001", 'ENTRYPOINT ["/srv/psi/.venv/bin/python"]', 'CMD ["-m", "config.serve"]'):
        assert line in CONTAINERFILE.splitlines()
    assert subprocess.run([sys.executable, "-c", "import config.serve"], cwd=ROOT, check=False).returncode == 0


def test_a_linter_of_such_files_has_nothing_to_say() -> None:
    # DL3008: Debian removes the versions that one would name.
    command = [str(Path(sys.executable).with_name("hadolint")), "--ignore", "DL3008", str(DEPLOY / "Containerfile")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "")


def test_the_image_can_be_built() -> None:
    engines = ("podman", "docker")
    running = [
        name
        for name in engines
        if shutil.which(name) and subprocess.run([name, "info"], capture_output=True, check=False).returncode == 0
    ]
    if not running:
        pytest.skip("needs podman or docker")
    command = [running[0], "build", "--quiet", "--file", str(DEPLOY / "Containerfile"), str(ROOT)]
    assert subprocess.run(command, check=False).returncode == 0
