"""The staff member of a request, and their entries in the access log."""

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from staff.models import Staff
from users.models import AccessKind, AccessRecord, User

VIEW_CASES = "users.view_user"


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
    """Add an entry to the access log. user: None for a list, whose filters are the detail."""
    return AccessRecord.objects.create(
        kind=kind, user=user, staff=staff_of(request), request_id=request_id_of(request), detail=detail
    )
