"""A curl command, read as curl reads its options. Nothing is run, fetched or opened."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote_plus

from partners.doctor import remarks, shell
from partners.doctor.findings import Cause, NotUnderstoodError
from partners.doctor.raw_http import METHOD
from partners.doctor.sent import Sent, require_short, split_url

# Options that matter here, by their short name.
_SHORT = {"X": "request", "H": "header", "d": "data", "G": "get", "I": "head", "F": "form", "T": "upload-file"}

# Further options that take a value, which must not be taken for the URL.
_SHORT_WITH_VALUE = frozenset("AbcCDeEhKmoPQrtuUwxyYz")
_LONG_WITH_VALUE = frozenset(
    """
    abstract-unix-socket alt-svc aws-sigv4 cacert capath cert cert-type ciphers config connect-timeout connect-to
    continue-at cookie cookie-jar create-file-mode crlfile curves delegation dns-interface dns-ipv4-addr
    dns-ipv6-addr dns-servers doh-url dump-header ech egd-file engine etag-compare etag-save expect100-timeout
    ftp-account ftp-alternative-to-user ftp-method ftp-port ftp-ssl-ccc-mode happy-eyeballs-timeout-ms
    haproxy-clientip help hostpubmd5 hostpubsha256 hsts interface ip-tos ipfs-gateway keepalive-cnt keepalive-time
    key key-type krb libcurl limit-rate local-port login-options mail-auth mail-from mail-rcpt max-filesize
    max-redirs max-time netrc-file noproxy oauth2-bearer output output-dir parallel-max pass pinnedpubkey preproxy
    proto proto-default proto-redir proxy proxy-cacert proxy-capath proxy-cert proxy-cert-type proxy-ciphers
    proxy-crlfile proxy-header proxy-key proxy-key-type proxy-pass proxy-pinnedpubkey proxy-service-name
    proxy-tls13-ciphers proxy-tlsauthtype proxy-tlspassword proxy-tlsuser proxy-user proxy1.0 pubkey quote
    random-file range rate referer resolve retry retry-delay retry-max-time sasl-authzid service-name socks4 socks4a
    socks5 socks5-gssapi-service socks5-hostname speed-limit speed-time stderr telnet-option tftp-blksize time-cond
    tls-max tls13-ciphers tlsauthtype tlspassword tlsuser trace trace-ascii trace-config unix-socket user user-agent
    variable vlan-priority write-out
    """.split()  # noqa: SIM905 - a hundred names
)
_FORM_URLENCODED = "application/x-www-form-urlencoded"


@dataclass
class _Command:
    """What the options add up to. data: what becomes the body, or with --get the query; None before any."""

    url: str = ""
    method: str = ""
    headers: list[str] = field(default_factory=list)
    data: str | None = None
    query: list[str] = field(default_factory=list)
    is_json: bool = False
    is_get: bool = False
    is_head: bool = False
    is_upload: bool = False
    causes: dict[str, Cause] = field(default_factory=dict)

    def notice(self, cause: Cause) -> None:
        self.causes[cause.code] = cause

    def add(self, data: str, joint: str = "&") -> None:
        self.data = data if self.data is None else f"{self.data}{joint}{data}"

    def from_file(self, text: str) -> bool:
        """Whether a value names a file, which is then noticed."""
        if text.startswith("@"):
            self.notice(remarks.FILE_NOT_READ)
            return True
        return False


def read(arguments: str) -> Sent:
    """The request that `curl` with these arguments sends first. Raises NotUnderstoodError."""
    line = shell.split(arguments)
    command = _Command()
    if line.has_variables:
        command.notice(remarks.VARIABLE_NOT_KNOWN)
    for option, value in _options(line.words):
        if option == "next":
            break
        _apply(command, option, value)
    if line.ended_by == "&" and "?" in command.url:
        command.notice(remarks.URL_CUT)
    return _sent(command)


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Options by their long names, with their values; a URL as the value of `url`."""
    rest = iter(words)
    for word in rest:
        if word.startswith("--"):
            name = word[2:]
            yield name, next(rest, "") if name in _OPTIONS or name in _LONG_WITH_VALUE else ""
        elif word.startswith("-") and len(word) > 1:
            yield from _short_options(word[1:], rest)
        else:
            yield "url", word


def _short_options(letters: str, rest: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Options written together: the first that takes a value takes what follows it."""
    for index, letter in enumerate(letters):
        name = _SHORT.get(letter, letter)
        if name in _OPTIONS or letter in _SHORT_WITH_VALUE:
            yield name, letters[index + 1 :] or next(rest, "")
            return
        yield ("next" if letter == ":" else name), ""


def _apply(command: _Command, option: str, value: str) -> None:
    if option in _OPTIONS:
        _OPTIONS[option](command, value)
    elif option in {"get", "head"}:
        setattr(command, f"is_{option}", True)


def _url(command: _Command, value: str) -> None:
    command.url = command.url or value


def _request(command: _Command, value: str) -> None:
    command.method = value


def _header(command: _Command, value: str) -> None:
    if not command.from_file(value):
        command.headers.append(value)


def _data(command: _Command, value: str) -> None:
    command.add("" if command.from_file(value) else value)


def _data_raw(command: _Command, value: str) -> None:
    command.add(value)


def _json(command: _Command, value: str) -> None:
    command.is_json = True
    command.add("" if command.from_file(value) else value, joint="")


def _data_urlencode(command: _Command, value: str) -> None:
    command.add(_urlencoded(command, value))


def _url_query(command: _Command, value: str) -> None:
    command.query.append(value[1:] if value.startswith("+") else _urlencoded(command, value))


def _urlencoded(command: _Command, value: str) -> str:
    """`content`, `=content`, `name=content`, `@file` or `name@file`, as --data-urlencode takes them."""
    name, sign, content = re.match(r"([^=@]*+)([=@]?)(.*)", value, re.DOTALL).groups()  # type: ignore[union-attr]
    if sign == "@":
        command.notice(remarks.FILE_NOT_READ)
        content = ""
    if not sign:
        name, content = "", name
    encoded = quote_plus(_bytes(content))
    return f"{name}={encoded}" if name else encoded


def _form(command: _Command, _: str) -> None:
    command.notice(remarks.FORM_NOT_READ)
    command.add("")


def _upload(command: _Command, _: str) -> None:
    command.notice(remarks.FILE_NOT_READ)
    command.is_upload = True


# Options that take a value and say something of the request.
_OPTIONS: dict[str, Callable[[_Command, str], None]] = {
    "url": _url,
    "request": _request,
    "header": _header,
    "data": _data,
    "data-ascii": _data,
    "data-binary": _data,
    "data-raw": _data_raw,
    "data-urlencode": _data_urlencode,
    "json": _json,
    "url-query": _url_query,
    "form": _form,
    "form-string": _form,
    "upload-file": _upload,
}


def _sent(command: _Command) -> Sent:
    if not command.url:
        raise NotUnderstoodError("The curl command has no URL.")
    url, _, fragment = command.url.partition("#")
    body = command.data
    if command.is_get and body is not None:
        command.query.append(body)
        body = None
    for query in command.query:
        url += ("&" if "?" in url else "?") + query
    headers = _headers(command, has_body=body is not None)
    _require_one_line(url, *(value for _, value in headers))
    origin, target = split_url(url if "://" in url else f"https://{url}")
    found = [cause.found() for cause in command.causes.values()]
    sent = Sent(_method(command, has_body=body is not None), origin, target, headers, _bytes(body or ""), found)
    return sent.remarked(remarks.FRAGMENT_DROPPED.found()) if fragment else sent


def _method(command: _Command, *, has_body: bool) -> str:
    inferred = "HEAD" if command.is_head else "POST" if has_body else "PUT" if command.is_upload else "GET"
    method = command.method or inferred
    if not METHOD.fullmatch(method):
        raise NotUnderstoodError("The value of --request is no method.")
    return method.upper()


def _headers(command: _Command, *, has_body: bool) -> list[tuple[str, str]]:
    headers = []
    given = set()
    for text in command.headers:
        name, colon, value = text.partition(":")
        # `Name:` takes a header away that curl would send; `Name;` sends it with nothing in it.
        if colon and value.strip():
            headers.append((name.strip(), value.strip(" \t")))
        elif not colon and text.endswith(";"):
            headers.append((text[:-1].strip(), ""))
        given.add(name.strip().lower())
    if has_body and "content-type" not in given:
        headers.append(("Content-Type", "application/json" if command.is_json else _FORM_URLENCODED))
    if command.is_json and "accept" not in given:
        headers.append(("Accept", "application/json"))
    return headers


def _require_one_line(*texts: str) -> None:
    require_short(*texts)
    if any(re.search(r"[\r\n\0\ud800-\udfff]", text) for text in texts):
        raise NotUnderstoodError("The URL or a header of the command holds a line end, or bytes that are no text.")


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
