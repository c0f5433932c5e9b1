"""What was pasted, read as a request: raw HTTP or a curl command. Nothing is run, fetched or opened."""

import re
from dataclasses import replace
from urllib.parse import unquote

from partners.doctor import curl, raw_http, remarks
from partners.doctor.findings import NotUnderstoodError, SecretPastedError
from partners.doctor.sent import Sent

# The service takes 64 KiB of body; in escapes that may be more.
LONGEST_TEXT = 200_000

# A secret of ours as issued, and its beginning as Base64 has it, wherever that cuts, or hex.
_SECRET = re.compile(
    r"psi_secret_[A-Za-z0-9_\-]{8}|cHNpX3NlY3JldF|BzaV9zZWNyZXRf|wc2lfc2VjcmV0X|7073695f7365637265745f", re.IGNORECASE
)
_API_KEY = re.compile(r"(psi_key_[A-Za-z0-9_\-]{8})([A-Za-z0-9_\-]+)")
# Of A-Z a-z 0-9 - _.
_NEEDLESS_ESCAPE = re.compile(r"%(2D|5F|3[0-9]|[46][1-9A-F]|[57][0-9A])", re.IGNORECASE)
_API_KEY_HEADER = re.compile(r"X[-_]Api[-_]Key", re.IGNORECASE)

_CURL = re.compile(r"\s*(?:\$\s+)?curl(?:\.exe)?(?=\s)", re.IGNORECASE)


def read(text: str) -> Sent:
    """The request that a text shows: raw HTTP, or a curl command. Raises NotUnderstoodError."""
    harmless(text)
    if not text.strip():
        raise NotUnderstoodError("There is nothing to read: paste a request, or the curl command that sends it.")
    command = _CURL.match(text)
    sent = curl.read(text[command.end() :]) if command else raw_http.read(text)
    # Escapes, of a URL and of a shell, may have hidden one.
    for part in (sent.target, sent.body.decode(errors="replace"), *(value for _, value in sent.headers)):
        _refuse_secret(part)
    return _without_keys(sent)


def harmless(text: str) -> str:
    """The text as it is.

    Raises NotUnderstoodError where it is too long or no text, SecretPastedError where it holds a secret.
    """
    if len(text) > LONGEST_TEXT:
        raise NotUnderstoodError(f"The text is longer than {LONGEST_TEXT:,} characters: no request is.")
    _refuse_secret(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotUnderstoodError("The text holds half a character, which no UTF-8 has.") from None
    return text


def _refuse_secret(text: str) -> None:
    if _SECRET.search(text) or _SECRET.search(unquote(text)):
        raise SecretPastedError(
            "There is a secret in what you pasted: take it out, and since it was shown, rotate that key."
        )


def masked(text: str) -> str:
    """The text with API keys shortened to what is visible of them elsewhere, their length kept."""
    return _API_KEY.sub(lambda match: match[1] + "*" * len(match[2]), text)


def _without_keys(sent: Sent) -> Sent:
    """The request, with API keys masked wherever one does not belong."""
    # Escapes that nobody needs could hide one from the eye, though not from the canonical request.
    plain = _NEEDLESS_ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), sent.target)
    target = masked(plain) if masked(plain) != plain else sent.target
    headers = [(name, value if _API_KEY_HEADER.fullmatch(name) else masked(value)) for name, value in sent.headers]
    if target == sent.target and headers == list(sent.headers):
        return sent
    return replace(sent, target=target, headers=headers).remarked(remarks.API_KEY_ELSEWHERE.found())
