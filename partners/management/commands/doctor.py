import re
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from partners.management.base import Outcome, ServiceCommand
from partners.monitoring.found import Result
from partners.monitoring.installation import findings


class Command(ServiceCommand):
    help = (
        "Checks the installation before going live and after each upgrade: each line is ok, a warning or a failure,"
        " with what to do. Exit status 1 if anything failed. Run it where the service runs, with its settings."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--url", default="", help="check the proxy too: the https address that partners use")

    def perform(self, *, url: str, **_: Any) -> Outcome:
        if url and not re.match(r"https://[^/?#@]+(/|\Z)", url):
            raise CommandError("--url must begin with https:// and a host.")
        found = list(findings(url=url))
        lines = []
        for one in found:
            lines.append(f"{one.result.value:7}  {one.check}: {one.text}")
            if one.advice:
                lines.append(f"{'':7}  → {one.advice}")
        counts = {result.value: sum(one.result is result for one in found) for result in Result}
        lines.append(f"{counts['ok']} ok, {counts['warning']} warnings, {counts['failure']} failures.")
        data = {"checks": [one._asdict() for one in found], **counts}
        return Outcome(data, lines, status=1 if counts[Result.FAILURE.value] else 0)
