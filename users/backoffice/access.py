"""Access records of requests."""

from django.http import HttpRequest

from users.models import AccessKind, AccessRecord, Staff, User
from users.services import access_log


def record_access(
    request: HttpRequest, kind: AccessKind, *, user: User | None = None, detail: str = ""
) -> AccessRecord:
    """Record that the staff member of this request did this: access_log.record."""
    assert isinstance(request.user, Staff)  # noqa: S101 - pages of the back office are for staff alone
    request_id = getattr(request, "request_id", "")
    return access_log.record(kind=kind, staff=request.user, user=user, request_id=request_id, detail=detail)
