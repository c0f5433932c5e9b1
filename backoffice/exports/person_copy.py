"""The person's copy: what a user may see of its own records, for a request of access (docs/operations.md, "Records").

It is written as the evidence pack is, but each value is named here: no filter leaves out what only staff may see.
Nobody is tipped off (contract, section 13): it has the `statusReason` that the partner is told, and no other.
"""

from collections.abc import Generator, Iterator, Mapping
from datetime import UTC
from functools import partial
from typing import Any

from django.utils import translation
from django.utils.translation import gettext as _

from backoffice.exports import archives
from backoffice.exports import records as of
from backoffice.exports.archives import Attachments, File
from backoffice.exports.evidence_pack import Part, written
from backoffice.exports.records import ASKED, SUBMITTED, Record, events, records
from staff.models import Staff
from users.models import AccessKind, AccessRecord, User
from users.models.statuses import Status, status_reason

# The detail of its entry in the access log, by which the trail says what was exported.
DETAIL = "Person's copy"
LANGUAGES = ("en", "fr")

_PROFILE = {"userId": "id", "externalId": "external_id", "partner": "partner__name", "createdAt": "created_at"}


def parts(files: Mapping[str, Record]) -> list[Part]:
    """Return the lists of a copy. files: of the documents that are in it."""
    return [
        Part("statuses", _("Statuses"), _statuses),
        Part("profileChanges", _("Profile history"), _profile_changes),
        Part("requirements", _("Asked of the partner"), partial(of.requirements, lookups=ASKED)),
        Part("requirementResponses", _("Answers of the partner"), partial(of.answers, for_person=True)),
        Part("file", _("File"), partial(of.file_records, for_person=True)),
        Part("conversions", _("Conversions"), of.conversions),
        Part("documents", _("Documents"), partial(of.documents, files=files, for_person=True)),
    ]


def record_export(*, user: User, by: Staff, request_id: str = "") -> AccessRecord:
    """Leave the trail of a copy, before its first byte is written."""
    return AccessRecord.objects.create(
        kind=AccessKind.EXPORTED, user=user, staff=by, request_id=request_id, detail=DETAIL
    )


def archive(access: AccessRecord, language: str) -> Generator[bytes, None, None]:
    """Generate the copy. access: its entry in the access log. language: of the page, one of LANGUAGES."""
    # Of the thread, which sends nothing else meanwhile.
    with translation.override(language):
        title = _("Copy of your personal data, made at %(at)s UTC.")
        at = f"{access.created_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
        yield from archives.archive(_files(access), title % {"at": at})


def _files(access: AccessRecord) -> Iterator[File]:
    user = User.objects.get(accesses=access)
    attachments = Attachments(access.request_id)
    yield from attachments.files(user.documents.filter(withdrawal=None))
    [about] = records(User.objects.filter(pk=user.pk), _PROFILE | SUBMITTED)
    profile = about | {"status": user.status, "statusReason": status_reason(user.status, user.status_reason_code)}
    head = {"exportedAt": access.created_at, "user": profile}
    page = {"exported_at": access.created_at}
    yield from written(user, parts(attachments.of_documents), head, "backoffice/exports/person_copy.html", page)


def _statuses(user: User) -> Iterator[Record]:
    yield {"at": user.created_at, "status": Status.PENDING_COMPLIANCE.value, "statusReason": None}
    moves = {"at": "created_at", "status": "to_status", "code": "reason_code"}
    for move in records(user.status_changes.order_by("created_at", "id"), moves):
        yield {"at": move["at"], "status": move["status"], "statusReason": status_reason(move["status"], move["code"])}


def _profile_changes(user: User) -> Iterator[Record]:
    """Yield the profile as it was registered and after each change: not what decisions and reviews wrote."""
    before: Mapping[str, Any] | None = None
    for event in events(user, {"at": "pgh_created_at", **SUBMITTED}):
        profile = {name: event[name] for name in SUBMITTED}
        if profile != before:
            yield {"at": event["at"], "change": "created" if before is None else "changed", **profile}
        before = profile
