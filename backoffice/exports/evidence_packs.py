"""The evidence packs of several users in one ZIP: a folder for each, an index, and one manifest over all of it."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet
from django.template.loader import render_to_string

from backoffice.exports import evidence_pack
from backoffice.exports.downloads import in_chunks
from backoffice.exports.evidence_manifest import File, Manifest
from backoffice.exports.spreadsheets import csv_file
from users.models import AccessRecord, User
from users.records.holds import is_held

# Within EXPORT_SECONDS, four seconds for each.
MAX_USERS = 200
_HEADINGS = ("name", "externalId", "userId", "partner", "mode", "status", "held", "folder", "files", "faults")


def found(users: QuerySet[User]) -> list[User]:
    """Return the users of a pack; one more than MAX_USERS where they are too many."""
    return list(users.select_related("partner")[: MAX_USERS + 1])


def files(accesses: Sequence[AccessRecord], choice: str) -> Iterator[File]:
    """Yield the files of the pack, each to be read before the next.

    accesses: the entry of each user in the access log. choice: how they were chosen, for people.
    """
    by_user = {access.user_id: access for access in accesses if access.user_id}
    manifest = Manifest(accesses[0], [*by_user])
    rows = list[dict[str, Any]]()
    for user_id, access in by_user.items():
        # As the snapshot has the user.
        user = User.objects.select_related("partner").get(pk=user_id)
        folder = f"{user.pk}/"
        manifest.enter(folder)
        yield from evidence_pack.files_of(user.pk, access, manifest)
        rows.append(
            {
                "user": user,
                "is_held": is_held(user),
                "folder": folder,
                "files": sum(one["file"] is not None for one in manifest.attached.values()),
                "faults": sum(one["fileFault"] is not None for one in manifest.attached.values()),
            }
        )
    manifest.enter("")
    yield manifest.part("index.csv", in_chunks(csv_file(_HEADINGS, map(_cells, rows))))
    context = {
        "access": accesses[0],
        "choice": choice,
        "rows": rows,
        "key_id": manifest.key_id,
        "is_sandbox": any(row["user"].is_sandbox for row in rows),
    }
    page = render_to_string("backoffice/exports/evidence_index.html", context)
    yield manifest.part("index.html", (page.encode(),))
    yield from manifest.files()


def _cells(row: dict[str, Any]) -> tuple[Any, ...]:
    user = row["user"]
    about = (user.full_name, user.external_id, user.pk, user.partner.slug, user.partner.mode, user.status)
    return *about, row["is_held"], row["folder"], row["files"], row["faults"]
