"""Parsing of pasted text, raw HTTP or a curl command. Nothing is run, fetched or opened."""

import getopt
import re
import shlex
from collections import defaultdict
from collections.abc import Iterator
from urllib.parse import quote_plus, unquote

from partners.signing.causes import counted, finding
from partners.signing.request import PastedRequest

# The service accepts 64 KiB of body; escaped, that may be more.
MAX_TEXT_LENGTH = 200_000
# shlex takes time by the square of its longest word, getopt by the square of their number.
MAX_COMMAND_LENGTH, MAX_WORDS = 80_000, 500
# More than any server accepts in a request's head.
MAX_LINE_LENGTH, MAX_LINES = 8_192, 200

# A secret as issued, and its beginning in Base64, at each of the three offsets, and in hex.
_SECRET = re.compile(
    r"psi_(?:test_)?secret_[A-Za-z0-9_\-]{8}"
    r"|cHNpX3NlY3JldF|BzaV9zZWNyZXRf|wc2lfc2VjcmV0X|7073695f7365637265745f"
    r"|cHNpX3Rlc3Rfc2VjcmV0X|BzaV90ZXN0X3NlY3JldF|wc2lfdGVzdF9zZWNyZXRf|7073695f746573745f7365637265745f",
    re.IGNORECASE,
)
_API_KEY = re.compile(r"(psi_(?:test_)?key_[A-Za-z0-9_\-]{8})([A-Za-z0-9_\-]+)")
_API_KEY_HEADER = re.compile(r"X[-_]Api[-_]Key", re.IGNORECASE)
# A key's header with a secret, in raw HTTP and in curl.
_EXCHANGED = re.compile(r"X[-_]Api[-_]Key['\"]?\s*[:=]\s*['\"]?psi_(?:test_)?secret_", re.IGNORECASE)
# The escapes of A-Z a-z 0-9 - _.
_NEEDLESS_ESCAPE = re.compile(r"%(2D|5F|3[0-9]|[46][1-9A-F]|[57][0-9A])", re.IGNORECASE)

_METHOD = re.compile(r"[A-Za-z]{1,20}")
_URL = re.compile(r"/|https?://|[\w.\-]+(?::\d+)?/", re.IGNORECASE)
_ORIGIN = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*://)([^/?#]*)")
_EMPTY_LINE = re.compile(r"\r?\n\r?\n")
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_NOT_IN_A_HEAD = re.compile(r"[\r\n\0]")

_CURL = re.compile(r"\s*(?:\$\s+)?curl(?:\.exe)?(?=\s)", re.IGNORECASE)
# bash's $'…' and the ^ of the Windows command prompt, which shlex does not know.
_OTHER_QUOTING = re.compile(r"\s\$'|\^[ \t]*\r?\n|\^\"")
_QUOTED = re.compile(r"(\"(?:[^\"\\]++|\\.)*+\")|'[^']*+'|\\.", re.DOTALL)
_VARIABLE = re.compile(r"(?<!\\)(?:\$[A-Za-z_{(]|`)")
_SHORT = {"-X": "--request", "-H": "--header", "-d": "--data", "-F": "--form", "-G": "--get", "-I": "--head"}
_SHORT_OPTIONS = "X:H:d:F:GI" + "A:b:c:D:e:E:m:o:u:w:x:" + "fgikLNsSv#"
_OF_FILES = {"--data", "--data-ascii", "--data-binary", "--json", "--header"}
# The last three lines are options that do not change what is signed.
_LONG_OPTIONS = re.findall(
    r"\S+",
    """
    url= request= header= data= data-ascii= data-binary= data-raw= data-urlencode= json= form= get head
    cacert= cert= connect-timeout= cookie= cookie-jar= dump-header= key= max-time= output= proxy= referer= resolve=
    retry= user= user-agent= write-out= compressed fail fail-with-body globoff http1.1 http2 include insecure
    location no-buffer no-progress-meter path-as-is progress-bar show-error silent verbose
    """,
)


class NotUnderstoodError(ValueError):
    """The text cannot be parsed as a request; the message says why."""


class SecretPastedError(NotUnderstoodError):
    """The text contains a secret, which has to be removed from the text and rotated."""


def parse(text: str) -> PastedRequest:
    """Return the request in a text. Raises NotUnderstoodError, and SecretPastedError if it contains a secret."""
    require_harmless(text)
    if not text.strip():
        raise NotUnderstoodError("The text is empty: paste a request, or the curl command that sends it.")
    command = _CURL.match(text)
    request = _from_curl(text[command.end() :]) if command else _from_http(text)
    # Quoting may have hidden a secret.
    for part in (request.target, request.body.decode(errors="replace"), *(value for _, value in request.headers)):
        _refuse_secret(part)
    return _with_keys_masked(request)


def require_harmless(text: str) -> None:
    """Raise NotUnderstoodError if a text is too long or not UTF-8, SecretPastedError if it contains a secret."""
    if len(text) > MAX_TEXT_LENGTH:
        raise NotUnderstoodError(f"The text is longer than {MAX_TEXT_LENGTH:,} characters, longer than any request.")
    _refuse_secret(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotUnderstoodError("The text has a lone surrogate, which is not UTF-8.") from None


def _refuse_secret(text: str) -> None:
    # Behind the escapes of URLs, shells and JSON too.
    if _EXCHANGED.search(text):
        raise SecretPastedError(
            "X-Api-Key holds a secret: key and secret are exchanged. Remove it and, since it was exposed,"
            " rotate that key."
        )
    if _SECRET.search(text) or _SECRET.search(unquote(re.sub(r"\\x|\\u00", "%", text))):
        raise SecretPastedError("The text contains a secret: remove it and, since it was exposed, rotate that key.")


def masked(text: str) -> str:
    """Return the text with API keys cut to the visible prefix, their length kept."""
    return _API_KEY.sub(lambda match: match[1] + "*" * len(match[2]), text)


def _with_keys_masked(request: PastedRequest) -> PastedRequest:
    """Return the request with API keys masked outside their header."""
    # Escapes of plain letters could hide a key in the target.
    plain = _NEEDLESS_ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), request.target)
    target = masked(plain) if masked(plain) != plain else request.target
    headers = [(name, value if _API_KEY_HEADER.fullmatch(name) else masked(value)) for name, value in request.headers]
    if target == request.target and headers == request.headers:
        return request
    findings = [*request.findings, finding("api-key-elsewhere")]
    return PastedRequest(request.method, request.origin, target, headers, request.body, findings)


def _from_http(text: str) -> PastedRequest:
    """Parse request line, headers, an empty line and the body. Line ends before the body are LF or CRLF."""
    text = text.lstrip()
    if text.startswith(("> ", "* ")):
        # The output of `curl -v`.
        text = "\n".join(line[2:] for line in text.split("\n") if line.startswith(">"))
    empty = _EMPTY_LINE.search(text)
    head, body = (text[: empty.start()], text[empty.end() :].encode()) if empty else (text, b"")
    lines = [line.removesuffix("\r") for line in head.split("\n")]
    _require_head(lines)
    method, url = _request_line(lines[0])
    headers, findings, unreadable = [], [], []
    for number, line in enumerate(lines[1:], start=2):
        name, colon, value = line.partition(":")
        if colon and _HEADER_NAME.fullmatch(name):
            headers.append((name, value.strip(" \t\r")))
        elif line.strip():
            unreadable.append(number)
    if unreadable:
        more = f" (and {counted(len(unreadable) - 1, 'more line')})" if len(unreadable) > 1 else ""
        ignored = f"Line {unreadable[0]}{more} has no name with a colon after it, and is ignored here."
        findings.append(finding("header-unreadable", ignored))
    values = {name.lower(): value for name, value in headers}
    declared = values.get("content-length")
    if declared and declared != str(len(body)) and not values.get("transfer-encoding"):
        length = counted(len(body), "byte")
        how, body = next((one for one in _restored(body) if declared == str(len(one[1]))), ("", body))
        restored = f"The body is read {how}: only then does it have the declared length, {declared}."
        differs = f"Content-Length is {declared}, but the pasted body has {length}, so line 6 may differ."
        code, explanation = ("body-restored", restored) if how else ("content-length-differs", differs)
        findings.append(finding(code, explanation))
    origin, target = _split_url(url)
    origin = origin or (f"https://{values['host']}" if "host" in values else "")
    return PastedRequest(method, origin, target, headers, body, findings)


def _request_line(line: str) -> tuple[str, str]:
    method, _, rest = line.strip().partition(" ")
    url, _, version = rest.strip().rpartition(" ")
    url = (url if version.startswith("HTTP/") else rest).strip()
    if not _METHOD.fullmatch(method) or not _URL.match(url):
        raise NotUnderstoodError(
            "The first line is no request line, such as `GET /v1/ping HTTP/1.1`, and no curl command."
        )
    return method.upper(), url


def _restored(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield what the body may have been before it was pasted, and how it differed."""
    with_crlf = body.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    yield "without the line feed at its end", body.removesuffix(b"\n").removesuffix(b"\r")
    yield "with CRLF at the ends of its lines", with_crlf
    yield "with CRLF at the ends of its lines, but the last", with_crlf.removesuffix(b"\r\n")


def _from_curl(arguments: str) -> PastedRequest:
    """Parse the arguments of curl, by the options that people use with this service."""
    parsed, urls, ended_by = _curl_options(arguments)
    options: defaultdict[str, list[str]] = defaultdict(list)
    data: list[str] = []
    reads_file = False
    for option, value in parsed:
        is_file = value.startswith("@") and option in _OF_FILES
        reads_file |= is_file
        options[option].append("" if is_file else value)
        if option.startswith("--data") or option == "--json":
            data.append("" if is_file else _urlencoded(value) if option == "--data-urlencode" else value)
    url = next(iter([*options["--url"], *urls]), "").partition("#")[0]
    if not url:
        raise NotUnderstoodError("The curl command has no URL.")
    findings = {
        "variable-not-known": bool(_VARIABLE.search(_QUOTED.sub(lambda match: match[1] or "", arguments))),
        "file-not-read": reads_file,
        "form-not-read": "--form" in options,
        "url-cut": ended_by == "&" and "?" in url,
    }
    body = ("" if "--json" in options else "&").join(data) if data or "--form" in options else None
    if body is not None and "--get" in options:
        url, body = url + ("&" if "?" in url else "?") + body, None
    headers = list(_curl_headers(options, has_body=body is not None))
    _require_head([url, *(value for _, value in headers)])
    method = options.get("--request", ["HEAD" if "--head" in options else "GET" if body is None else "POST"])[-1]
    if not _METHOD.fullmatch(method):
        raise NotUnderstoodError("The value of --request is not a method.")
    origin, target = _split_url(url if "://" in url else f"https://{url}")
    found = [finding(code) for code, applies in findings.items() if applies]
    return PastedRequest(method.upper(), origin, target, headers, (body or "").encode(), found)


def _curl_options(arguments: str) -> tuple[list[tuple[str, str]], list[str], str]:
    """Return the options by their long names, the URLs, and what ended the command, such as `|`."""
    words, ended_by = _shell_words(arguments)
    try:
        options, urls = getopt.gnu_getopt(words, _SHORT_OPTIONS, _LONG_OPTIONS)
    except getopt.GetoptError as error:
        name = error.opt if re.fullmatch(r"[A-Za-z0-9.\-]{1,40}", error.opt) else "…"
        raise NotUnderstoodError(
            f"The curl option {name} is not supported: remove it, or paste the request as raw HTTP."
        ) from None
    return [(_SHORT.get(option, option), value) for option, value in options], urls, ended_by


def _shell_words(text: str) -> tuple[list[str], str]:
    """Return the words of the first command, and what ended it before the end of the text."""
    if len(text) > MAX_COMMAND_LENGTH or _OTHER_QUOTING.search(text):
        raise NotUnderstoodError("The curl command is too long, or quotes by $'…' or ^: paste the request as raw HTTP.")
    # A backslash joins lines.
    lexer = shlex.shlex(re.sub(r"\\[ \t]*\r?\n", "", text), posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    ended_by = ""
    try:
        for word in lexer:
            if word and not word.strip("|&;<>"):
                ended_by = word
                break
            words.append(word)
    except ValueError:
        raise NotUnderstoodError("The command has an unclosed quotation mark.") from None
    if len(words) > MAX_WORDS:
        raise NotUnderstoodError("The curl command has too many words: paste the request as raw HTTP.")
    return words, ended_by


def _urlencoded(value: str) -> str:
    """`content`, `=content` or `name=content`, as --data-urlencode takes them."""
    name, sign, content = value.partition("=")
    return f"{name}={quote_plus(content)}" if name and sign else quote_plus(content or name)


def _curl_headers(options: dict[str, list[str]], *, has_body: bool) -> Iterator[tuple[str, str]]:
    names = set()
    for name, _, value in (text.partition(":") for text in options.get("--header", [])):
        names.add(name.strip().lower())
        # `Name:` removes a header that curl would send.
        if value.strip():
            yield name.strip(), value.strip(" \t")
    if has_body and "content-type" not in names:
        yield "Content-Type", "application/json" if "--json" in options else "application/x-www-form-urlencoded"


def _require_head(lines: list[str]) -> None:
    if len(lines) > MAX_LINES or any(len(line) > MAX_LINE_LENGTH or _NOT_IN_A_HEAD.search(line) for line in lines):
        raise NotUnderstoodError(
            f"Before the body there are more than {MAX_LINES} lines, a line end, a NUL or a line of more than"
            f" {MAX_LINE_LENGTH:,} characters: is it a request?"
        )


def _split_url(url: str) -> tuple[str, str]:
    """Return the origin of a URL, without user name and password, and its target, without the fragment."""
    match = _ORIGIN.match(url)
    scheme, host = match.groups() if match else ("", "")
    target = (url[match.end() :] if match else url).partition("#")[0]
    return scheme + host.rpartition("@")[2], target if target.startswith("/") else f"/{target}"
