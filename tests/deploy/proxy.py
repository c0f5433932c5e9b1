"""nginx with the files of deploy/nginx, but other addresses, ports and folders, in front of live servers."""

import os
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import trustme

from tests.slow.live.conftest import free_port
from tests.support.timeouts import WAIT_SECONDS

ROOT = Path(__file__).parents[2]
FILES = ROOT / "deploy" / "nginx"
# The PROXY protocol sets a test's client address, on a separate port.
SPOKEN_FOR = "proxy_protocol; set_real_ip_from 127.0.0.1; real_ip_header proxy_protocol"
NAME = "partners.example"
AUTHORITY = "authority.pem"


@dataclass(frozen=True)
class Proxy:
    """A running nginx. port: TLS; plain_port: HTTP; spoken_for_port: TLS behind the PROXY protocol."""

    port: int
    plain_port: int
    spoken_for_port: int
    folder: Path

    @property
    def access_log(self) -> str:
        return (self.folder / "access.log").read_text()

    @property
    def error_log(self) -> str:
        return (self.folder / "error.log").read_text()

    def tls(self) -> ssl.SSLContext:
        """Return a TLS context that trusts this proxy only."""
        return ssl.create_default_context(cafile=str(self.folder / AUTHORITY))

    def connect(self, *, address: str = "127.0.0.1", spoken_for: str | None = None) -> ssl.SSLSocket:
        """Connect. address: the local one. spoken_for: the client address, by the PROXY protocol."""
        port = self.spoken_for_port if spoken_for else self.port
        plain = socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS, source_address=(address, 0))
        try:
            if spoken_for:
                family = "TCP6" if ":" in spoken_for else "TCP4"
                there = "2001:db8:ffff::1" if ":" in spoken_for else "192.0.2.1"
                plain.sendall(f"PROXY {family} {spoken_for} {there} 50000 443\r\n".encode())
            return self.tls().wrap_socket(plain, server_hostname=NAME)
        except OSError:
            plain.close()
            raise

    @contextmanager
    def connected(self, *, address: str = "127.0.0.1", spoken_for: str | None = None) -> Iterator[ssl.SSLSocket]:
        """Connect for the block."""
        with self.connect(address=address, spoken_for=spoken_for) as connection:
            yield connection


@contextmanager
def running(
    program: str, upstreams: Sequence[int], *, for_staff: Sequence[int] = (), timeless: bool = False
) -> Iterator[Proxy]:
    """Run nginx in front of these ports, under an unprivileged account if the tests run as root.

    for_staff: the ports of all but /v1, where these are others. timeless: limits of requests let another pass in a
    minute only, and a body may be unfinished for WAIT_SECONDS.
    """
    # Not pytest's folder, into which no other account can look.
    folder = Path(tempfile.mkdtemp(prefix="psi-nginx-"))
    port, plain_port, spoken_for_port = (free_port() for _ in range(3))
    proxy = Proxy(port, plain_port, spoken_for_port, folder)
    try:
        _install(proxy, upstreams, for_staff or upstreams)
        if timeless:
            _hold_time(proxy)
        account = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
        if account:
            for path in (folder, *folder.rglob("*")):
                shutil.chown(path, "nobody", "nogroup")
        command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, **account) as process:  # type: ignore[call-overload]
            try:
                _wait_for(proxy, process)
                yield proxy
            finally:
                process.terminate()
    finally:
        shutil.rmtree(folder)


def _install(proxy: Proxy, upstreams: Sequence[int], for_staff: Sequence[int]) -> None:
    for path in FILES.glob("*.conf"):
        (proxy.folder / path.name).write_text(_placed(path.read_text(), proxy))
    for name, ports in {"servers.conf": upstreams, "staff_servers.conf": for_staff}.items():
        parameters = re.search(r"^server \S+ (.*);$", (FILES / name).read_text(), re.MULTILINE)
        assert parameters
        (proxy.folder / name).write_text("".join(f"server 127.0.0.1:{port} {parameters[1]};\n" for port in ports))
    _write_certificate(proxy.folder)


def _hold_time(proxy: Proxy) -> None:
    for name, setting, value in (
        ("limits.conf", r"(?<=rate=)\d+r/s", "1r/m"),
        ("nginx.conf", r"(?<=client_body_timeout )\d+s", f"{WAIT_SECONDS:.0f}s"),
    ):
        path = proxy.folder / name
        text, count = re.subn(setting, value, path.read_text())
        assert count
        path.write_text(text)


def _placed(text: str, proxy: Proxy) -> str:
    """Return a file's text with this proxy's addresses, ports and folders."""
    listening = f"listen 127.0.0.1:{proxy.port} ssl http2"
    spoken_for = f"listen 127.0.0.1:{proxy.spoken_for_port} ssl http2 {SPOKEN_FOR}"
    text = re.sub(r" *listen \[::\].*\n", "", text)
    text = text.replace("listen 443 ssl http2;", f"{listening};\n{spoken_for};")
    text = text.replace("listen 443 ssl http2 default_server;", f"{listening} default_server;")
    text = re.sub(r"listen 80\b", f"listen 127.0.0.1:{proxy.plain_port}", text)
    text = re.sub(r"/etc/ssl/psi|/var/log/nginx|/run(?=/nginx\.pid)", str(proxy.folder), text)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    return text.replace("http {\n", "http {\n" + "".join(f"{k}_temp_path {proxy.folder}/{k};\n" for k in kinds))


def _write_certificate(folder: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert(NAME)
    authority.cert_pem.write_to_path(str(folder / AUTHORITY))
    certificate.cert_chain_pems[0].write_to_path(str(folder / "fullchain.pem"))
    certificate.private_key_pem.write_to_path(str(folder / "privkey.pem"))


def _wait_for(proxy: Proxy, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", proxy.port), timeout=1).close()
        except OSError:
            assert process.poll() is None, process.communicate()[1].decode()
            assert time.monotonic() < deadline, "nginx does not listen"
            time.sleep(0.02)
        else:
            return
