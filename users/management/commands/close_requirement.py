from core.management.arguments import row_id
from users.management import NOTE, TAKE_OVER, CaseCommand, by
from users.models import Requirement
from users.requirements import close_requirement


class Command(CaseCommand):
    help = "Closes a requirement: it was answered to satisfaction, or is withdrawn."
    row = Requirement
    arguments = (row_id("requirement_id", "REQUIREMENT_ID"), by(), NOTE, TAKE_OVER)
    rule = staticmethod(close_requirement)
    data = {"requirementId": "requirement_id"}
    text = "Requirement {requirementId} is closed."
