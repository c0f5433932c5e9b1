"""The evidence packs of several users in one ZIP: a folder for each, an index, and one signature for all."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError, transaction
from django.template.loader import render_to_string
from django.utils.translation import ngettext

from backoffice.exports import archives, evidence_pack
from backoffice.exports.archives import Attachments, File
from backoffice.exports.downloads import csv_file, in_chunks
from core.evidence_key import signing_key_id
from users.models import AccessRecord, User
from users.retention import is_held

log = structlog.get_logger("users.exports")

# Within EXPORT_SECONDS, four seconds for each.
MAX_USERS = 200
_HEADINGS = ("name", "externalId", "userId", "partner", "mode", "status", "held", "folder", "files", "faults", "unread")
# The end of a file that could not be read to its end, as of a list that is cut off.
_CUT_OFF = b'\n{"error":"incomplete"}\n'


def archive(accesses: Sequence[AccessRecord], choice: str) -> Iterator[bytes]:
    """Generate the pack. accesses: of each user, in the access log. choice: how they were chosen, for people."""
    count = len(accesses)
    title = ngettext("Evidence pack of %(count)s user.", "Evidence packs of %(count)s users.", count) % {"count": count}
    return archives.archive(_files(accesses, choice), evidence_pack.about(title, accesses[0]))


def _files(accesses: Sequence[AccessRecord], choice: str) -> Iterator[File]:
    attachments = Attachments(accesses[0])
    rows = list[dict[str, Any]]()
    for access in accesses:
        folder = f"{access.user_id}/"
        row: dict[str, Any] = {"user_id": access.user_id, "folder": folder, "unread": []}
        attachments.of_documents = {}
        with _reading(row, "user"):
            # As the snapshot has the user.
            user = User.objects.select_related("partner").get(accesses=access)
            row |= {"user": user, "is_held": is_held(user)}
            for name, chunks in evidence_pack.files_of(user.pk, access, attachments):
                yield folder + name, _readable(chunks, row, name)
        attached = attachments.of_documents.values()
        row["files"] = sum(one["file"] is not None for one in attached)
        row["faults"] = sum(one["fileFault"] is not None for one in attached)
        rows.append(row)
    yield "index.csv", in_chunks(csv_file(_HEADINGS, map(_cells, rows)))
    context = {
        "access": accesses[0],
        "choice": choice,
        "rows": rows,
        "key_id": signing_key_id(),
        "is_sandbox": any(row["user"].is_sandbox for row in rows if "user" in row),
    }
    page = render_to_string("backoffice/exports/evidence_index.html", context)
    yield "index.html", (page.encode(),)


@contextmanager
def _reading(row: dict[str, Any], name: str) -> Iterator[None]:
    """Name in the row what of a user cannot be read, and go on: the pack has the others.

    A database that does not answer, and a file that cannot be written, end the whole.
    """
    try:
        # What the database refuses leaves the snapshot as it was.
        with transaction.atomic():
            yield
    except (OperationalError, InterfaceError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is
        # Its text may have values of the row.
        log.error("a user could not be read", user=str(row["user_id"]), file=name, error=type(error).__name__)  # noqa: TRY400
        row["unread"].append(name)


def _readable(chunks: Iterable[bytes], row: dict[str, Any], name: str) -> Iterator[bytes]:
    """The chunks of a file; one that cannot be read to its end says so there."""
    with _reading(row, name):
        yield from chunks
    if name in row["unread"]:
        yield _CUT_OFF


def _cells(row: dict[str, Any]) -> tuple[Any, ...]:
    user: User | None = row.get("user")
    names = (user.full_name, user.external_id) if user else ("", "")
    states = (user.partner.slug, user.partner.mode, user.status, row["is_held"]) if user else ("", "", "", "")
    return *names, row["user_id"], *states, row["folder"], row["files"], row["faults"], " ".join(row["unread"])
