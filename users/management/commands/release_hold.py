from core.management.arguments import reason, row_id
from core.management.base import ServiceCommand
from users import retention
from users.management import ERASER, by


class Command(ServiceCommand):
    help = "Ends a hold on a user's records, by another account than the one that placed it."
    arguments = (row_id("hold_id", "HOLD_ID"), reason("stored with the user's records"), by(ERASER))
    rule = staticmethod(retention.release_hold)
    data = {"holdId": "hold_id"}
    text = "Hold {holdId} is released."
