from core.management.arguments import row_id
from core.management.base import ServiceCommand
from users import retention
from users.management import ERASER, by


class Command(ServiceCommand):
    help = "Approves an erasure that another person proposed: erase_due may carry it out."
    arguments = (row_id("proposal_id", "ERASURE_ID"), by(f"the second of two people, {ERASER}"))
    rule = staticmethod(retention.approve_erasure)
    data = {"state": "result.present_state"}
    text = "Approved: erase_due may erase {result.users} users until {result.expires_at}."
