import os
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from backoffice.exports import downloads, person_copy
from partners.management.base import Outcome, ServiceCommand
from users.management.base import add_by, add_user, find_user
from users.staff.staff import acting_staff


class Command(ServiceCommand):
    help = (
        "Writes the person's copy, for a request of access: a ZIP archive of what a user may see of its own records,"
        " with the documents' files. The export is recorded."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_user(parser)
        parser.add_argument("--output", required=True, metavar="FILE", help="the archive; it must not be there yet")
        add_by(parser, "an active account that may export, and download")
        parser.add_argument("--language", choices=person_copy.LANGUAGES, default="en", help="of the page (default: en)")

    def perform(self, *, slug: str, external_id: str, output: str, by: str, language: str, **_: Any) -> Outcome:
        user, staff, path = find_user(slug, external_id), acting_staff(by), Path(output)
        if not (staff.is_active and staff.has_perms(person_copy.PERMISSIONS)):
            raise CommandError(f"{staff.get_username()} may not export users with their documents.")
        try:
            # Only its owner may read it: it holds personal data.
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise CommandError(f"{output}: {error.strerror}.") from error
        try:
            with os.fdopen(descriptor, "wb") as file:
                access = person_copy.record_export(user=user, by=staff)
                with downloads.snapshot():
                    for chunk in downloads.bounded(person_copy.archive(user.pk, access, language)):
                        file.write(chunk)
        except BaseException as error:
            with suppress(OSError):
                path.unlink()
            if isinstance(error, OSError):
                raise CommandError(f"{output}: {error.strerror}.") from error
            raise
        return Outcome(
            {"userId": str(user.pk), "externalId": user.external_id, "output": output, "language": language},
            [f"The copy of user {external_id} of {slug} is in {output}."],
        )
