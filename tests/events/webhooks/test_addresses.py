"""Where a webhook may go: contract, section 10."""

import socket
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

import pytest
from AntiSSRF import IPAddressRanges
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st
from requests_hardened.ip_filter import filter_host

from events.webhooks import addresses

GLOBAL = ("1.1.1.1", "93.184.216.34", "198.41.0.4", "223.255.255.254", "2606:4700:4700::1111", "2a00:1450:4001::200e")

# All of https://www.iana.org/assignments/iana-ipv4-special-registry
IPV4_SPECIAL = (
    *("0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
    *("192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32"),
    *("192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.88.99.2/32"),
    *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4"),
    "255.255.255.255/32",
)
# All of https://www.iana.org/assignments/iana-ipv6-special-registry
IPV6_SPECIAL = (
    *("::1/128", "::/128", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64"),
    *("2001::/23", "2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32"),
    *("2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16"),
    *("2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10"),
)
# Multicast (RFC 5771 and 4291), site-local (RFC 3879), IPv4-compatible (RFC 4291), and Azure's platform.
OTHERS = ("224.0.0.0/4", "ff00::/8", "fec0::/10", "::/96", "168.63.129.16/32")
REFUSED = [ip_network(net) for net in (*IPV4_SPECIAL, *IPV6_SPECIAL, *OTHERS)]


def host_has(monkeypatch: pytest.MonkeyPatch, *responses: list[str]) -> list[str]:
    """Have look-ups return these addresses, one list for each; the last is repeated. Returns the hosts looked up."""
    hosts: list[str] = []

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        hosts.append(host)
        found = responses[min(len(hosts), len(responses)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return hosts


def inside(net: IPv4Network | IPv6Network) -> list[addresses.Address]:
    return [net[0], net[net.num_addresses // 2], net[-1]]


def test_special_purpose_addresses_are_refused() -> None:
    assert [net for net in REFUSED if any(map(addresses.may_go_to, inside(net)))] == []


def test_global_addresses_are_allowed() -> None:
    assert [address for address in GLOBAL if not addresses.may_go_to(ip_address(address))] == []


def test_ipv4_within_ipv6_is_refused() -> None:
    for form in ("::ffff:0:0", "64:ff9b::", "64:ff9b:1::", "2002::", "::"):
        shift = 80 if form == "2002::" else 0
        for net in REFUSED:
            if isinstance(net, IPv4Network):
                within = ip_address(int(ip_address(form)) | int(net[-1]) << shift)
                assert not addresses.may_go_to(within), within


def test_global_ipv4_within_ipv6_is_refused_too() -> None:
    for form in ("::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::1", "2001:0:101:101::1"):
        assert not addresses.may_go_to(ip_address(form))


# Around the ends of each net, and anywhere.
ENDS = st.sampled_from(REFUSED).flatmap(
    lambda net: st.sampled_from(
        [net[0], net[-1], net[0] - (int(net[0]) > 0), net[-1] + (int(net[-1]) < 2**net.max_prefixlen - 1)]
    )
)


@given(st.one_of(st.ip_addresses(), ENDS))
def test_what_is_allowed_is_global_to_others_too(address: addresses.Address) -> None:
    """To Python, and to two packages that do such checks."""
    if not addresses.may_go_to(address):
        return
    assert address.is_global
    assert not any(address in ip_network(net) for net in IPAddressRanges.recommended_latest)
    with pytest.MonkeyPatch.context() as patch:
        host_has(patch, [str(address)])
        assert filter_host("hooks.example.com", 443, allow_loopback=False).strip("[]") == str(address)


def test_what_another_package_refuses_is_refused() -> None:
    nets = map(ip_network, IPAddressRanges.recommended_latest)
    assert [net for net in nets if any(map(addresses.may_go_to, inside(net)))] == []


LONGEST_HOST = f"{'a.' * 121}example.com"
REFUSED_URLS = [
    *("http://hooks.example.com/", "ftp://hooks.example.com/", "//hooks.example.com/", "hooks.example.com", ""),
    *("https://", "https:///path"),
    # Addresses: dotted, decimal, octal, hexadecimal, short, IPv6, of other scripts
    *("https://127.0.0.1/", "https://93.184.216.34/", "https://2130706433/", "https://017700000001/"),
    *("https://0x7f000001/", "https://0x7f.0.0.1/", "https://0177.0.0.01/", "https://127.1/", "https://1.0x/"),
    *("https://127.0.0.1./", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/"),
    *("https://[fe80::1%25eth0]/", "https://１２７.0.0.1/", "https://①②⑦.⓪.⓪.①/", "https://127。0。0。1/"),
    # Names of this machine, and of none in the public DNS
    *("https://localhost/", "https://LOCALHOST/", "https://ⓛocalhost/", "https://a.localhost/"),
    *("https://intranet/", "https://hooks.example.com./", "https://.example.com/", "https://hooks..example.com/"),
    *("https://-hooks.example.com/", "https://hooks_1.example.com/", f"https://{'a' * 64}.example.com/"),
    f"https://a{LONGEST_HOST}/",
    *("https://hooks.example.7/", "https://hooks.example.0x7/", "https://-ü-.example.com/"),
    # User info, fragment, and what parsers disagree on
    *("https://user@hooks.example.com/", "https://user:pass@hooks.example.com/"),
    *("https://hooks.example.com@127.0.0.1/", "https://hooks.example.com/#part"),
    *("https://hooks.example.com#@127.0.0.1/", "https://hooks.example.com\\@127.0.0.1/"),
    *("https://hooks.example.com\\.evil.example/", "https:\\\\hooks.example.com/"),
    *("https://hooks.example.com%2f@127.0.0.1/", "https://hooks.example%2ecom/"),
    # Whitespace and control characters
    *(" https://hooks.example.com/", "https://hooks.example.com/ ", "https://hooks.example.com/a b"),
    *("https://hooks.example.com/\r\nHost:x", "https://hooks.example.com\t/", "https://hooks.exam\nple.com/"),
    *("https://hooks.example.com/\x00", "https://hooks.example.com/\x7f", "https://hooks.example.com/é"),
    "https://hooks.example.com/%zz",
    # Ports
    *("https://hooks.example.com:80/", "https://hooks.example.com:22/", "https://hooks.example.com:1023/"),
    *("https://hooks.example.com:65536/", "https://hooks.example.com:0443/", "https://hooks.example.com:/"),
    *("https://hooks.example.com:４４３/", f"https://hooks.example.com/{'a' * 475}"),
]


def is_refused(url: str) -> bool:
    try:
        addresses.parse(url)
    except ValidationError:
        return True
    return False


def test_urls_that_are_refused() -> None:
    assert [url for url in REFUSED_URLS if not is_refused(url)] == []


ALLOWED_URLS = [
    ("https://hooks.example.com", "https://hooks.example.com/", "hooks.example.com", 443),
    ("https://Hooks.Example.COM:443/A?b=%20", "https://hooks.example.com/A?b=%20", "hooks.example.com", 443),
    ("HTTPS://hooks.example.com/", "https://hooks.example.com/", "hooks.example.com", 443),
    ("https://BÜCHER.example/", "https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443),
    (f"https://{LONGEST_HOST}/", f"https://{LONGEST_HOST}/", LONGEST_HOST, 443),
    ("https://hooks.example.com:1024/a", "https://hooks.example.com:1024/a", "hooks.example.com", 1024),
    ("https://hooks.example.com:65535?a=b", "https://hooks.example.com:65535/?a=b", "hooks.example.com", 65535),
    ("https://bücher.example/x", "https://xn--bcher-kva.example/x", "xn--bcher-kva.example", 443),
    ("https://例え。テスト/", "https://xn--r8jz45g.xn--zckzah/", "xn--r8jz45g.xn--zckzah", 443),
    ("https://7.example.com/", "https://7.example.com/", "7.example.com", 443),
    ("https://a.1password.example/", "https://a.1password.example/", "a.1password.example", 443),
    (f"https://a.example/{'b' * 482}", f"https://a.example/{'b' * 482}", "a.example", 443),
]


def test_urls_that_are_allowed() -> None:
    for url, *parsed in ALLOWED_URLS:
        assert addresses.parse(url) == tuple(parsed)


@pytest.mark.parametrize(
    "found",
    [["10.0.0.1"], ["1.1.1.1", "10.0.0.1"], ["1.1.1.1", "::ffff:10.0.0.1"], ["64:ff9b::a00:1"], ["fe80::1%eth0"]],
)
def test_one_address_that_is_not_global_is_enough(monkeypatch: pytest.MonkeyPatch, found: list[str]) -> None:
    host_has(monkeypatch, found)
    with pytest.raises(ValidationError, match="public addresses alone"):
        addresses.checked("https://hooks.example.com/")
    with pytest.raises(addresses.RefusedAddressError):
        addresses.look_up("hooks.example.com", 443).result()


def test_all_addresses_are_returned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = host_has(monkeypatch, ["1.1.1.1", "2606:4700:4700::1111", "1.1.1.1"])
    found = addresses.look_up("hooks.example.com", 443).result()
    assert [address for *_, (address, _port) in found] == ["1.1.1.1", "2606:4700:4700::1111"]
    addresses.checked("https://bücher.example/")
    assert hosts == ["hooks.example.com", "xn--bcher-kva.example"]


def test_a_name_without_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(ValidationError, match="public addresses alone"):
        addresses.checked("https://hooks.example.com/")


@pytest.mark.parametrize(
    ("debug", "allow", "allowed"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_loopback_only_while_both_settings_allow_it(settings: Any, *, debug: bool, allow: bool, allowed: bool) -> None:
    settings.DEBUG, settings.WEBHOOK_ALLOW_LOOPBACK = debug, allow
    assert [addresses.may_go_to(ip_address(one)) for one in ("127.0.0.1", "127.9.9.9", "::1")] == [allowed] * 3
    assert not addresses.may_go_to(ip_address("10.0.0.1"))
    if allowed:
        assert addresses.parse("https://localhost:8443/").host == "localhost"
    else:
        with pytest.raises(ValidationError):
            addresses.parse("https://localhost:8443/")
    with pytest.raises(ValidationError):
        addresses.parse("https://127.0.0.1:8443/")
