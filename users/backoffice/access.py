"""The staff member of a request, and their entries in the access log."""

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from users.models import AccessKind, AccessRecord, Staff, User
from users.services import access_log


def staff_of(request: HttpRequest, *permissions: str) -> Staff:
    """Return the staff member. Raises PermissionDenied where one of the permissions is missing."""
    if not isinstance(request.user, Staff) or not request.user.has_perms(permissions):
        raise PermissionDenied
    return request.user


def request_id_of(request: HttpRequest) -> str:
    """Return the request's id, which RequestMiddleware sets."""
    return str(getattr(request, "request_id", ""))


def record_access(
    request: HttpRequest, kind: AccessKind, *, user: User | None = None, detail: str = ""
) -> AccessRecord:
    """Add an entry to the access log: see access_log.record."""
    staff, request_id = staff_of(request), request_id_of(request)
    return access_log.record(kind=kind, staff=staff, user=user, request_id=request_id, detail=detail)
