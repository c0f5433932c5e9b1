from core.management.arguments import reason, row_id
from core.management.base import ServiceCommand
from users import retention
from users.management import ERASER, by


class Command(ServiceCommand):
    help = "Declines a proposed erasure: nobody is erased by it."
    arguments = (
        row_id("proposal_id", "ERASURE_ID"),
        reason("stored until the first of its users is erased"),
        by(ERASER),
    )
    rule = staticmethod(retention.decline_erasure)
    data = {"state": "result.present_state"}
    text = "Declined: nobody is erased."
