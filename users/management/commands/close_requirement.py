from collections.abc import Mapping
from typing import Any
from uuid import UUID

from core.management.arguments import row_id
from users.management import NOTE, TAKE_OVER, CaseCommand, by
from users.models import Requirement
from users.requirements.lifecycle import close_requirement


class Command(CaseCommand):
    help = "Closes a requirement: it was answered to satisfaction, or is withdrawn."
    arguments = (row_id("requirement_id", "REQUIREMENT_ID"), by(), NOTE, TAKE_OVER)
    rule = staticmethod(close_requirement)
    data = {"requirementId": "requirement_id"}
    text = "Requirement {requirementId} is closed."

    def user_id(self, options: Mapping[str, Any]) -> UUID:
        return Requirement.objects.get(pk=options["requirement_id"]).user_id
