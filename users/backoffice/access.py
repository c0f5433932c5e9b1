"""Access records of requests."""

from django.http import HttpRequest

from users.models import AccessKind, AccessRecord, Staff, User


def record_access(
    request: HttpRequest, kind: AccessKind, *, user: User | None = None, detail: str = ""
) -> AccessRecord:
    """Record that the staff member of this request did this. user: None for a list, whose filters are the detail."""
    assert isinstance(request.user, Staff)  # noqa: S101 - pages of the back office are for staff alone
    request_id = getattr(request, "request_id", "")
    return AccessRecord.objects.create(kind=kind, user=user, staff=request.user, request_id=request_id, detail=detail)
