"""The access log: who opened, claimed, released, reviewed or exported which user."""

from users.models import AccessKind, AccessRecord, Staff, User

# The pages that show a user, as the detail of an opening.
CASE_PAGE, USER_PAGE, HISTORY_PAGE = "", "User page.", "Profile history."
PAGES_WITH_RISK_FLAGS = (CASE_PAGE, USER_PAGE)


def record(
    *, kind: AccessKind, staff: Staff, user: User | None = None, request_id: str = "", detail: str = ""
) -> AccessRecord:
    """Record an access. user: None for a list, whose filters are the detail; nothing in it is personal."""
    return AccessRecord.objects.create(kind=kind, user=user, staff=staff, request_id=request_id, detail=detail)
