import os
from contextlib import suppress
from pathlib import Path

from django.core.management.base import CommandError

from backoffice.exports import downloads, person_copy
from backoffice.exports.evidence_pack import EXPORT_PACKS
from core.management.arguments import Argument
from core.management.base import Outcome, ServiceCommand
from staff.models import Staff
from users.management import USER, by
from users.models import User


class Command(ServiceCommand):
    help = (
        "Writes the person's copy, for a request of access: a ZIP archive of what a user may see of its own records,"
        " with the documents' files. The export is recorded."
    )
    arguments = (
        USER,
        Argument("--output", required=True, metavar="FILE", help="the archive; it must not be there yet"),
        by("an active account that may export, and download"),
        Argument("--language", choices=person_copy.LANGUAGES, default="en", help="of the page (default: en)"),
    )

    def perform(self, *, user: User, output: str, by: Staff, language: str) -> Outcome:
        if not (by.is_active and by.has_perms(EXPORT_PACKS)):
            raise CommandError(f"{by.get_username()} may not export users with their documents.")
        # Only its owner may read it: it holds personal data.
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                access = person_copy.record_export(user=user, by=by)
                for chunk in downloads.from_snapshot(person_copy.archive(access, language)):
                    file.write(chunk)
        except BaseException as error:
            with suppress(OSError):
                Path(output).unlink()
            if isinstance(error, OSError):
                raise CommandError(f"{output}: {error.strerror}.") from error
            raise
        return Outcome(
            {"userId": user.pk, "externalId": user.external_id, "output": output, "language": language},
            f"The copy of user {user.external_id} of {user.partner.slug} is in {output}.",
        )
