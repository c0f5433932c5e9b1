"""The evidence packs of several users in one ZIP: a folder for each, an index, and one signature for all."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils.translation import ngettext

from backoffice.exports import archives, evidence_pack
from backoffice.exports.archives import Attachments, File
from backoffice.exports.downloads import in_chunks
from backoffice.exports.spreadsheets import csv_file
from partners.evidence.keys import signing_key_id
from users.models import AccessRecord, User
from users.records.holds import is_held

# Within EXPORT_SECONDS, four seconds for each.
MAX_USERS = 200
_HEADINGS = ("name", "externalId", "userId", "partner", "mode", "status", "held", "folder", "files", "faults")


def found(users: QuerySet[User]) -> list[User]:
    """Return the users of a pack; one more than MAX_USERS where they are too many."""
    return list(users.select_related("partner")[: MAX_USERS + 1])


def archive(accesses: Sequence[AccessRecord], choice: str) -> Iterator[bytes]:
    """Generate the pack. accesses: of each user, in the access log. choice: how they were chosen, for people."""
    count = len(accesses)
    title = ngettext("Evidence pack of %(count)s user.", "Evidence packs of %(count)s users.", count) % {"count": count}
    return archives.archive(_files(accesses, choice), evidence_pack.about(title, accesses[0]))


def _files(accesses: Sequence[AccessRecord], choice: str) -> Iterator[File]:
    attachments = Attachments(accesses[0])
    rows = list[dict[str, Any]]()
    for access in accesses:
        # As the snapshot has the user.
        user = User.objects.select_related("partner").get(accesses=access)
        folder = f"{user.pk}/"
        attachments.of_rows = {}
        for name, chunks in evidence_pack.files_of(user.pk, access, attachments):
            yield folder + name, chunks
        attached = attachments.of_rows.values()
        rows.append(
            {
                "user": user,
                "is_held": is_held(user),
                "folder": folder,
                "files": sum(one["file"] is not None for one in attached),
                "faults": sum(one["fileFault"] is not None for one in attached),
            }
        )
    yield "index.csv", in_chunks(csv_file(_HEADINGS, map(_cells, rows)))
    context = {
        "access": accesses[0],
        "choice": choice,
        "rows": rows,
        "key_id": signing_key_id(),
        "is_sandbox": any(row["user"].is_sandbox for row in rows),
    }
    page = render_to_string("backoffice/exports/evidence_index.html", context)
    yield "index.html", (page.encode(),)


def _cells(row: dict[str, Any]) -> tuple[Any, ...]:
    user = row["user"]
    about = (user.full_name, user.external_id, user.pk, user.partner.slug, user.partner.mode, user.status)
    return *about, row["is_held"], row["folder"], row["files"], row["faults"]
