"""The access log: who looked at whom."""

from django.http import HttpRequest

from users.models import AccessKind, AccessRecord, Staff, User

# The pages that show a user, as the detail of an opening.
CASE_PAGE, USER_PAGE, HISTORY_PAGE = "", "User page.", "Profile history."
PAGES_WITH_RISK_FLAGS = (CASE_PAGE, USER_PAGE)


def record(request: HttpRequest, kind: AccessKind, *, user: User | None = None, detail: str = "") -> AccessRecord:
    """Keeps for good that the person of this request did this. detail: for a list, its filters; nothing personal."""
    assert isinstance(request.user, Staff)  # noqa: S101 - pages of the back office are for staff alone
    return AccessRecord.objects.create(
        kind=kind,
        user=user,
        staff=request.user,
        request_id=getattr(request, "request_id", ""),
        detail=detail,
    )
