"""Where a webhook may go (contract, section 10): rules on its URL, and on the addresses of its host.

They keep requests out of the internal network. The sender connects to the very addresses that `look_up` returned
(events/webhooks/sending.py), so a name that changes its addresses afterwards gains nothing.
"""

import re
import socket
import threading
from concurrent.futures import Future
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, NamedTuple, NewType

import idna
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from events.models import MAX_URL_LENGTH

# Staff wait for the page so long.
SET_UP_SECONDS = 10.0

HTTPS_PORT = 443
_LOWEST_OTHER_PORT, _HIGHEST_PORT = 1024, 65535
_MAX_HOST_LENGTH = 253
_LOCALHOST = "localhost"

# The characters of RFC 3986, without a user, a fragment, and the brackets of an IPv6 address. So narrow that no two
# parsers can disagree on which part is the host.
_URL = re.compile(
    r"(?i:https)://(?P<host>[^\x00-\x20\x7f/?#@:\\\[\]]+)(?::(?P<port>[1-9][0-9]{0,4}))?"
    r"(?P<path>/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*)?"
    r"(?P<query>\?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?"
)
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")
# A host whose last label is a number is an IPv4 address to many parsers: decimal, octal or hexadecimal.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")

# IANA's registries of special-purpose addresses, those included that are globally reachable (no receiver is there),
# and multicast. A table of our own, because versions of Python's `ipaddress` disagree.
_REFUSED_NETS = """
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
    203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
    2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20
"""
# No registry has the last one: in Azure, the host responds at it.
_REFUSED = [ip_network(net) for net in (*_REFUSED_NETS.split(), "168.63.129.16/32")]
# Global unicast. IPv4-mapped, NAT64, unique local, link-local, SRv6 and multicast addresses are outside.
_IPV6_UNICAST = IPv6Network("2000::/3")

Address = IPv4Address | IPv6Address
CheckedUrl = NewType("CheckedUrl", str)


class RefusedAddressError(Exception):
    """A host has an address that is not global."""


class Target(NamedTuple):
    """The parts of a URL that may be called. url, host: in ASCII."""

    url: str
    host: str
    port: int


def checked(url: str, seconds: float = SET_UP_SECONDS) -> CheckedUrl:
    """A URL that webhooks may be sent to; its host is looked up within `seconds`. Raises ValidationError."""
    target = parse(url)
    try:
        look_up(target.host, target.port).result(seconds)
    except (OSError, TimeoutError, RefusedAddressError):
        # One text, as callers could otherwise find out which names exist inside.
        message = _("The URL's host name does not resolve to public addresses alone.")
        raise ValidationError(message, code="notAllowed") from None
    return CheckedUrl(url)


def may_go_to(address: Address) -> bool:
    """Whether the address is global, or loopback where that is allowed."""
    if address in ip_network("127.0.0.0/8") or address == IPv6Address("::1"):
        return allows_loopback()
    return not any(address in net for net in _REFUSED) and (address.version == 4 or address in _IPV6_UNICAST)  # noqa: PLR2004


def allows_loopback() -> bool:
    """Whether webhooks may go to this machine."""
    return bool(settings.DEBUG and settings.WEBHOOK_ALLOW_LOOPBACK)


def parse(url: str) -> Target:
    """Return the parts of a URL. Raises ValidationError, with a code of the contract's (section 1)."""
    if len(url) > MAX_URL_LENGTH:
        message = _("The URL is longer than %(limit)s characters.") % {"limit": MAX_URL_LENGTH}
        raise ValidationError(message, code="length")
    match = _URL.fullmatch(url)
    if match is None:
        raise ValidationError(
            _(
                "Enter a URL such as https://hooks.example.com/events: https, without user name and fragment."
                " Percent-encode spaces and special characters."
            ),
            code="format",
        )
    port = int(match["port"] or HTTPS_PORT)
    if port != HTTPS_PORT and not _LOWEST_OTHER_PORT <= port <= _HIGHEST_PORT:
        raise ValidationError(_("The URL's port must be 443, or from 1024 to 65535."), code="format")
    host = _ascii_host(match["host"])
    authority = host if port == HTTPS_PORT else f"{host}:{port}"
    return Target(f"https://{authority}{match['path'] or '/'}{match['query'] or ''}", host, port)


def _ascii_host(text: str) -> str:
    """Return a host name in lower case and A-labels. Raises ValidationError for an address in any notation."""
    try:
        # UTS 46 maps other scripts' digits and dots before the checks below see them.
        host = text.lower() if text.isascii() else idna.encode(text, uts46=True).decode()
    except UnicodeError:
        host = ""
    if host == _LOCALHOST and allows_loopback():
        return host
    labels = host.split(".")
    valid = len(host) <= _MAX_HOST_LENGTH and all(map(_LABEL.fullmatch, labels))
    if not valid or len(labels) == 1 or _NUMBER.fullmatch(labels[-1]) or labels[-1] == _LOCALHOST:
        message = _("The URL's host must be a full host name, such as hooks.example.com; not an address.")
        raise ValidationError(message, code="format")
    return host


def look_up(host: str, port: int) -> Future[list[Any]]:
    """Return the future addresses of a host, as socket.getaddrinfo has them.

    Its result raises OSError without any, RefusedAddressError where one is not global. It may be cancelled. In a thread
    of its own: executors have few threads, which hanging look-ups would all occupy, and the interpreter waits for them
    when it ends.
    """
    future: Future[list[Any]] = Future()

    def run() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            found = list(dict.fromkeys(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
            # The zone is cut off, which only link-local addresses have.
            is_global = all(may_go_to(ip_address(str(row[4][0]).partition("%")[0])) for row in found)
        except Exception as error:  # noqa: BLE001 - raised where the result is read
            future.set_exception(error)
        else:
            future.set_result(found) if is_global else future.set_exception(RefusedAddressError())

    threading.Thread(target=run, name="webhook-look-up", daemon=True).start()
    return future
