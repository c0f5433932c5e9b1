from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from partners.authentication import keys
from partners.management.base import Outcome, ServiceCommand, standard_input
from partners.models import ApiKey
from partners.signing import verification
from partners.signing.causes import counted
from partners.signing.diagnosis import Diagnosis, diagnose
from partners.signing.parsing import MAX_TEXT_LENGTH, NotUnderstoodError
from partners.signing.verification import Verification

STANDARD_INPUT = "-"

_MAX_BYTES = 4 * MAX_TEXT_LENGTH


class Command(ServiceCommand):
    help = (
        "Explains why a request was unauthorized. Reads it as raw HTTP or as a curl command, and shows its canonical"
        " request, the differences from the one that the partner's code built, and the likely cause. Nothing is sent or"
        " stored, and no secret is needed. Exit status 0 for every diagnosis."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "request", nargs="?", default=STANDARD_INPUT, metavar="FILE", help="default: standard input"
        )
        parser.add_argument(
            "--canonical", metavar="FILE", help="the canonical request that the partner's code built, byte for byte"
        )
        parser.add_argument(
            "--verify",
            action="store_true",
            help="look up the API key, and find the canonical request that the signature matches under its secret",
        )

    def perform(self, *, request: str, canonical: str | None, verify: bool, **_: Any) -> Outcome:
        if canonical == request == STANDARD_INPUT:
            raise CommandError("Only one of the two can come from standard input.")
        texts = _text(request), None if canonical is None else _text(canonical)
        try:
            diagnosis = diagnose(*texts, clock_skew_seconds=settings.CLOCK_SKEW_SECONDS)
        except NotUnderstoodError as error:
            raise CommandError(str(error)) from None
        verified = _verify(diagnosis) if verify else None
        data = ({} if verified is None else {"verification": verified.as_json()}) | diagnosis.as_json()
        return Outcome(data, map(visible, _lines(data, verified)))


def _text(name: str) -> str:
    """The content of a file, with its line ends. Raises CommandError."""
    try:
        with nullcontext(standard_input()) if name == STANDARD_INPUT else Path(name).open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise CommandError(f"The text is longer than {MAX_TEXT_LENGTH:,} characters.")
        return content.decode()
    except UnicodeDecodeError:
        raise CommandError(f"{name} is not text in UTF-8.") from None
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from None


def _verify(diagnosis: Diagnosis) -> Verification:
    """Look up the request's API key, and try its secret."""
    api_key = diagnosis.request.api_key
    caller = keys.find_caller(keys.digest(api_key))[0] if api_key else None
    if caller is None:
        return Verification("unknown" if api_key else "missing")
    return verification.verify(
        diagnosis,
        key_state=_key_state(caller),
        prefix=caller.key_prefix,
        partner=caller.partner_slug,
        secret=caller.secret,
    )


def _key_state(caller: keys.Caller) -> str:
    state = ApiKey.objects.get(pk=caller.key_id).state
    if state == "active" and not caller.is_active:
        return "partnerDisabled"
    return verification.UNDECRYPTABLE if state == "active" and caller.secret_is_lost else state


def visible(text: str) -> str:
    """The text with unprintable characters escaped, which a terminal would hide or obey."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _lines(data: dict[str, Any], verified: Verification | None) -> Iterator[str]:
    if verified is not None:
        yield from verified.sentences()
        yield ""
    request = data["request"]
    yield f"{request['method']} {request['target']}, {counted(request['bodyBytes'], 'byte')} of body"
    yield ""
    yield "Canonical request:"
    for number, line in enumerate(data["lines"], start=1):
        yield from _compared(number, line)
    yield from (_columns("", "yours:", line) for line in data["extraLines"])
    for finding in data["findings"]:
        yield ""
        about = f" ({finding['line']})" if finding["line"] else ""
        yield f"{finding['level'].upper()}: {finding['title']}{about} [{finding['cause']}]"
        yield f"  {finding['explanation']}"
        yield f"  {finding['remedy']}"


def _compared(number: int, line: dict[str, Any]) -> Iterator[str]:
    """A line; if it differs, the other one below, with a mark under the first byte that differs."""
    label = f"  {number} {line['name']}"
    if not line["differs"]:
        yield _columns(label, "", line["ours"])
        return
    yield _columns(label, "ours:", line["ours"])
    if line["theirs"] is None:
        yield _columns("", "yours:", "(not there)")
        return
    yield _columns("", "yours:", line["theirs"])
    before = line["theirs"].encode()[: line["firstDifference"]].decode(errors="ignore")
    yield _columns("", "", " " * len(visible(before)) + f"^ byte {line['firstDifference']}")


def _columns(label: str, origin: str, text: str) -> str:
    return f"{label:<19}{origin:<7}{text}"
