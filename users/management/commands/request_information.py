from argparse import ArgumentParser
from typing import Any

from core.formats.rfc_3339 import format_timestamp
from partners.management.base import Outcome, ServiceCommand, whole_number
from users.management.base import acting_on, add_by, add_take_over, add_user, find_user
from users.models import RequirementCode
from users.models.columns import FIELD_NAMES
from users.models.requirements import MAX_DUE_DAYS
from users.requirements.requirements import DEFAULT_DUE_DAYS, open_requirement
from users.staff.staff import acting_staff


class Command(ServiceCommand):
    help = "Asks a partner for information about a user: opens a requirement, with the rules of the back office."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_user(parser)
        parser.add_argument("--code", required=True, choices=RequirementCode.values, help="what is needed")
        parser.add_argument(
            "--field",
            action="append",
            default=[],
            dest="fields",
            metavar="NAME",
            choices=list(FIELD_NAMES.values()),
            help="a field that an update must have to answer it, such as addressLine1; may be repeated",
        )
        parser.add_argument("--message", default="", metavar="TEXT", help="for the partner, in English")
        parser.add_argument(
            "--due-in-days",
            type=whole_number(1, MAX_DUE_DAYS),
            default=DEFAULT_DUE_DAYS,
            metavar="DAYS",
            help=f"1 to {MAX_DUE_DAYS}; {DEFAULT_DUE_DAYS} by default",
        )
        add_by(parser)
        add_take_over(parser)

    def perform(
        self,
        *,
        slug: str,
        external_id: str,
        code: str,
        fields: list[str],
        message: str,
        due_in_days: int,
        by: str,
        take_over: bool,
        **_: Any,
    ) -> Outcome:
        user, staff = find_user(slug, external_id), acting_staff(by)
        with acting_on(user.pk, by=staff, take_over=take_over):
            requirement = open_requirement(
                user=user,
                code=code,
                fields=[column for column, name in FIELD_NAMES.items() if name in fields],
                message=message,
                due_in_days=due_in_days,
                by=staff,
            )
        due_at = format_timestamp(requirement.due_at)
        return Outcome(
            {"requirementId": str(requirement.pk), "dueAt": due_at},
            [f"Requirement {requirement.pk} waits for the partner's answer, due {due_at}."],
        )
