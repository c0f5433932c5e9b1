"""The proxy as partners see it: its certificate, the service behind it, and what it hides."""

import ssl
import time
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from partners.monitoring.found import ENDING_SOON, Found, Result

TIMEOUT_SECONDS = 10.0

API, PAGE, HIDDEN = "/v1/ping", "/docs", ("/readyz", "/metrics")


class _Answer:
    """The status, and whether the answer has Strict-Transport-Security."""

    def __init__(self, connection: HTTPSConnection, path: str) -> None:
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        self.status = response.status
        self.is_strict = bool(response.getheader("Strict-Transport-Security"))


def check_proxy(url: str) -> Found:
    """Check the proxy at an https URL by unsigned requests."""
    try:
        parts = urlsplit(url)
        with closing(
            HTTPSConnection(
                parts.hostname or "", parts.port, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context()
            )
        ) as connection:
            connection.connect()
            certificate = connection.sock.getpeercert() or {}
            answers = {path: _Answer(connection, path) for path in (API, PAGE, *HIDDEN)}
    except ssl.SSLCertVerificationError as error:
        text = f"The certificate is not valid: {error.verify_message}."
        return Found(Result.FAILURE, text, "Renew it, with its whole chain.")
    # Of a port or a host name that cannot be: ValueError.
    except (OSError, HTTPException, ValueError) as error:
        return Found(Result.FAILURE, f"No answer over TLS: {type(error).__name__}.", "Check name, port and proxy.")
    return _problem(answers) or _certificate(str(certificate["notAfter"]))


def _problem(answers: dict[str, _Answer]) -> Found | None:
    if answers[API].status != HTTPStatus.UNAUTHORIZED:
        text = f"An unsigned GET {API} is answered with {answers[API].status}, not 401."
        return Found(Result.FAILURE, text, "Compare the proxy with deploy/nginx.")
    if any(answers[path].status == HTTPStatus.OK for path in HIDDEN):
        return Found(Result.FAILURE, "The proxy shows /readyz or /metrics to everybody.", "Refuse both there.")
    if not answers[PAGE].is_strict:
        text = "Pages come without Strict-Transport-Security."
        return Found(Result.FAILURE, text, "Have the proxy set X-Forwarded-Proto to https.")
    return None


def _certificate(ends: str) -> Found:
    days = int((ssl.cert_time_to_seconds(ends) - time.time()) // 86400)
    text = f"The proxy answers as it should; its certificate ends in {days} days."
    if days < ENDING_SOON.days:
        return Found(Result.WARNING, text, "Renew it.")
    return Found(Result.OK, text)
