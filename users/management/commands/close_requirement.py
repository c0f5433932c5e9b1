from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError

from partners.management.base import Outcome, ServiceCommand
from users.management.base import acting_on, add_by, add_take_over, uuid_argument
from users.models import Requirement
from users.requirements.requirements import close_requirement
from users.staff.staff import acting_staff


class Command(ServiceCommand):
    help = "Closes a requirement: it was answered to satisfaction, or is withdrawn."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("requirement_id", metavar="REQUIREMENT_ID", type=uuid_argument, help="the requirement's id")
        add_by(parser)
        parser.add_argument("--note", default="", metavar="TEXT", help="for staff, stored permanently")
        add_take_over(parser)

    def perform(self, *, requirement_id: UUID, by: str, note: str, take_over: bool, **_: Any) -> Outcome:
        staff = acting_staff(by)
        try:
            user_id = Requirement.objects.get(pk=requirement_id).user_id
            with acting_on(user_id, by=staff, take_over=take_over):
                close_requirement(requirement_id=requirement_id, by=staff, note=note)
        except Requirement.DoesNotExist:
            raise CommandError(f"There is no requirement {requirement_id}.") from None
        return Outcome({"requirementId": str(requirement_id)}, [f"Requirement {requirement_id} is closed."])
