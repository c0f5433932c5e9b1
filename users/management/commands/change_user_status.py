"""`manage.py change_user_status`."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from partners.management.base import Outcome, ServiceCommand, find_partner, optional_rfc_3339
from users.models import Staff, Status, User
from users.services.compliance import DecisionRefusedError, change_status


class Command(ServiceCommand):
    """Moves a user's status, as the back office does."""

    help = "Moves a user's status, with the same rules and the same history as in the back office."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """SLUG EXTERNAL_ID STATUS --reason TEXT [--reason-code CODE] --by STAFF_USERNAME."""
        super().add_arguments(parser)
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")
        parser.add_argument("external_id", metavar="EXTERNAL_ID", help="the partner's identifier of the user")
        parser.add_argument(
            "status", metavar="STATUS", choices=Status.values, help="the status that the user is to have"
        )
        parser.add_argument("--reason", required=True, help="kept for good")
        parser.add_argument("--reason-code", default="", metavar="CODE", help="what decisions are counted by")
        parser.add_argument("--by", required=True, metavar="STAFF_USERNAME", help="who decides, and may")

    def perform(
        self, *, slug: str, external_id: str, status: str, reason: str, reason_code: str, by: str, **_: Any
    ) -> Outcome:
        """Moves it. Raises CommandError where somebody is unknown or the rules do not allow it."""
        user = _find_user(slug, external_id)
        try:
            change = change_status(
                user=user,
                to_status=status,
                by=_find_staff(by),
                reason=reason,
                reason_code=reason_code,
                source="manage.py change_user_status",
            )
        except DecisionRefusedError as error:
            raise CommandError(str(error)) from error
        return Outcome(
            {
                "userId": str(user.pk),
                "externalId": user.external_id,
                "fromStatus": change.from_status,
                "status": user.status,
                "updatedAt": optional_rfc_3339(user.updated_at),
            },
            [f"User {user.external_id} of {slug} was {change.from_status}, and is {user.status} now."],
        )


def _find_user(slug: str, external_id: str) -> User:
    try:
        return find_partner(slug).users.get(external_id=external_id)
    except User.DoesNotExist:
        raise CommandError(f"Partner {slug} has no user {external_id!r}.") from None


def _find_staff(username: str) -> Staff:
    try:
        return Staff.objects.get(username=username, is_staff=True)
    except Staff.DoesNotExist:
        raise CommandError(f"There is no staff account {username!r}.") from None
