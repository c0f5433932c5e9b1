"""The units, verified by systemd with this checkout's programs."""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path

import pytest

from events.webhooks import addresses, delivering
from tests.deploy.conftest import program

UNITS = Path(__file__).parents[2] / "deploy" / "systemd"
PATRONI = UNITS.parent / "patroni" / "patroni.service"
SERVICES = [
    "psi-serve@8001.service",
    "psi-staff@9001.service",
    "psi-deliver.service",
    "psi-purge.service",
    "psi-import@srv-feed-2026.ndjson.service",
]
# In systemd's terms, of 100: 20 is its 2.0, "OK". A service without any of it has 96.
MAX_EXPOSURE = 13
# Other nodes' addresses are not known to the unit.
MAX_EXPOSURE_OF_PATRONI = 16


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(UNITS, tmp_path / "units"))
    for unit in folder.glob("*.service"):
        unit.write_text(unit.read_text().replace("/srv/psi/.venv/bin/python", sys.executable))
    (folder / PATRONI.name).write_text(PATRONI.read_text().replace("/srv/patroni/bin/patroni", sys.executable))
    return folder


def analyze(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program("systemd-analyze"), *arguments],
        # The folder's first, and then systemd's own.
        env=os.environ | {"SYSTEMD_UNIT_PATH": f"{folder}:", "SYSTEMD_LOG_LEVEL": "warning"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("unit", [*SERVICES, "psi-purge.timer", PATRONI.name])
def test_units_are_valid(installed: Path, unit: str) -> None:
    verified = analyze(installed, "verify", "--man=no", unit)
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")


@pytest.mark.parametrize(
    ("unit", "most"), [*((unit, MAX_EXPOSURE) for unit in SERVICES), (PATRONI.name, MAX_EXPOSURE_OF_PATRONI)]
)
def test_services_are_sandboxed(installed: Path, unit: str, most: int) -> None:
    judged = analyze(installed, "security", "--offline=true", "--no-pager", f"--threshold={most}", unit)
    assert judged.returncode == 0, judged.stdout[-200:] + judged.stderr
    assert "Service runs as root" not in judged.stdout


def test_a_unit_waits_until_the_process_responds(installed: Path) -> None:
    unit = (installed / "psi-serve@.service").read_text()
    found = re.search(r"^ExecStartPost=/usr/bin/curl ((?:.*\\\n)*.*)$", unit, re.MULTILINE)
    assert found
    words = found[1].replace("\\\n", "").replace("${HOST}:%i", "{address}").split()
    statuses = iter([HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.OK])

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(next(statuses) if self.path == "/livez" else HTTPStatus.NOT_FOUND)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server, ThreadPoolExecutor(1) as pool:
        for _ in range(2):
            pool.submit(server.handle_request)
        address = f"127.0.0.1:{server.server_port}"
        done = subprocess.run([program("curl"), *(word.format(address=address) for word in words)], check=False)
    assert done.returncode == 0
    assert next(statuses, None) is None


@pytest.mark.parametrize("command", ["deliver_events", "purge_expired", "clearsessions", "import_conversions"])
def test_the_commands_of_the_units_accept_their_arguments(command: str) -> None:
    from django.core.management import get_commands, load_command_class

    lines = [
        line for unit in UNITS.glob("*.service") for line in unit.read_text().splitlines() if f" {command}" in line
    ]
    assert lines
    apps = get_commands()
    parser = load_command_class(str(apps[command]), command).create_parser("manage.py", command)
    for line in lines:
        parser.parse_args(line.partition(command)[2].split())


def denied_networks() -> list[IPv4Network | IPv6Network]:
    """The networks that systemd denies to the process that sends webhooks."""
    unit = (UNITS / "psi-deliver.service").read_text()
    return [ip_network(net) for line in re.findall(r"^IPAddressDeny=(.+)", unit, re.MULTILINE) for net in line.split()]


def test_systemd_denies_exactly_the_addresses_that_webhooks_may_not_go_to() -> None:
    denied = denied_networks()
    refused: list[IPv4Network | IPv6Network] = [
        *addresses._REFUSED,
        addresses._IPV6_UNICAST,
    ]
    for net in [*denied, *refused]:
        first, last = net.network_address, net.broadcast_address
        neighbours = [first - 1] if int(first) else []
        neighbours += [last + 1] if int(last) < 2**net.max_prefixlen - 1 else []
        for address in (first, last, *neighbours):
            assert any(address in net for net in denied) != addresses.may_go_to(address), address


def test_the_process_that_sends_webhooks_has_longer_to_stop_than_it_takes() -> None:
    found = re.search(r"^TimeoutStopSec=(\d+)$", (UNITS / "psi-deliver.service").read_text(), re.MULTILINE)
    assert found
    # The sends under way, then their results in a database that does not answer.
    assert delivering.ENDING_SECONDS + 5 < 20 < int(found[1])
