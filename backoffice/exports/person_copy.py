"""The person's copy: what a user may see of its own records, for a request of access (docs/operations.md, "Records").

It is written as the evidence pack is, but each value is named here: no filter leaves out what only staff may see.
Nobody is tipped off (contract, section 13): it has the `statusReason` that the partner is told, and no other.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC
from functools import partial
from typing import Any
from uuid import UUID

from django.utils import translation
from django.utils.translation import gettext as _

from backoffice.exports import archives
from backoffice.exports.archives import Attachments, File
from backoffice.exports.evidence_pack import Part, answers, file_records, requirements, with_files, written
from backoffice.exports.evidence_words import FILE_WORDS, REQUIREMENT_WORDS
from backoffice.exports.rows import (
    CONVERSION_WORDS,
    DOCUMENT_WORDS,
    SUBMITTED,
    Record,
    conversion_records,
    issued_document_records,
    records,
)
from staff.models import Staff
from users.models import AccessKind, AccessRecord, User, UserEvent
from users.models.statuses import Status, status_reason

# The detail of its entry in the access log, by which the trail says what was exported.
DETAIL = "Person's copy"
LANGUAGES = ("en", "fr")
# Who exports it: as the evidence pack, with the files.
PERMISSIONS = ("users.export_user", "transactions.download_document")

_PROFILE = {"userId": "id", "externalId": "external_id", "partner": "partner__name", "createdAt": "created_at"}
_REQUIREMENT = {
    "requirementId": "id",
    "at": "created_at",
    "code": "code",
    "fields": "fields",
    "message": "message",
    "dueAt": "due_at",
    "closedAt": "closure__created_at",
}


def parts(attachments: Attachments | None = None) -> list[Part]:
    """Return the lists of a copy. attachments: the files of their rows that are in it."""
    return [
        Part("statuses", _("Statuses"), _statuses),
        Part("profileChanges", _("Profile history"), _profile_changes),
        Part("requirements", _("Asked of the partner"), partial(requirements, _REQUIREMENT), REQUIREMENT_WORDS),
        Part("requirementResponses", _("Answers of the partner"), _responses, REQUIREMENT_WORDS),
        Part("file", _("File"), partial(file_records, for_person=True), FILE_WORDS),
        Part("conversions", _("Conversions"), conversion_records, CONVERSION_WORDS),
        Part("documents", _("Documents"), partial(with_files, issued_document_records, attachments), DOCUMENT_WORDS),
    ]


def record_export(*, user: User, by: Staff, request_id: str = "") -> AccessRecord:
    """Leave the trail of a copy, before its first byte is written."""
    return AccessRecord.objects.create(
        kind=AccessKind.EXPORTED, user=user, staff=by, request_id=request_id, detail=DETAIL
    )


def archive(user_id: UUID, access: AccessRecord, language: str) -> Iterator[bytes]:
    """Generate the copy. language: of the page, one of LANGUAGES."""
    at = f"{access.created_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    with translation.override(language):
        title = _("Copy of your personal data, made at %(at)s UTC.") % {"at": at}
    return _in_language(archives.archive(_files(user_id, access), title), language)


def _files(user_id: UUID, access: AccessRecord) -> Iterator[File]:
    user = User.objects.get(pk=user_id)
    attachments = Attachments(access, is_for_person=True)
    yield from attachments.files(user.documents.filter(withdrawal=None))
    [about] = records(User.objects.filter(pk=user_id), _PROFILE | SUBMITTED)
    profile = about | {"status": user.status, "statusReason": status_reason(user.status, user.status_reason_code)}
    yield from written(
        user,
        parts=parts(attachments),
        head={"exportedAt": access.created_at, "user": profile},
        template="backoffice/exports/person_copy.html",
        context={"profile": profile, "exported_at": access.created_at},
    )


def _in_language(chunks: Iterator[bytes], language: str) -> Iterator[bytes]:
    """Make each chunk in this language, and leave the thread's between them."""
    while True:
        with translation.override(language):
            chunk = next(chunks, None)
        if chunk is None:
            return
        yield chunk


def _statuses(user: User) -> Iterator[Record]:
    yield {"at": user.created_at, "status": Status.PENDING_COMPLIANCE.value, "statusReason": None}
    moves = {"at": "created_at", "status": "to_status", "code": "reason_code"}
    for move in records(user.status_changes.order_by("created_at", "id"), moves):
        yield {"at": move["at"], "status": move["status"], "statusReason": status_reason(move["status"], move["code"])}


def _profile_changes(user: User) -> Iterator[Record]:
    """Yield the profile as it was registered and after each change: not what decisions and reviews wrote."""
    before: Mapping[str, Any] | None = None
    for event in records(
        UserEvent.objects.filter(pgh_obj=user).order_by("pgh_id"), {"at": "pgh_created_at", **SUBMITTED}
    ):
        profile = {name: event[name] for name in SUBMITTED}
        if profile != before:
            yield {"at": event["at"], "change": "created" if before is None else "changed", **profile}
        before = profile


def _responses(user: User) -> Iterator[Record]:
    for record in answers(user):
        yield {name: value for name, value in record.items() if name != "by"}
