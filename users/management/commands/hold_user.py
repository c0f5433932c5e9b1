from core.management.arguments import reason
from core.management.base import ServiceCommand
from users import retention
from users.management import ERASER, USER, by


class Command(ServiceCommand):
    help = "Keeps a user's records, whatever the clock of their retention says, until another person releases the hold."
    arguments = (USER, reason("stored with the user's records"), by(ERASER))
    rule = staticmethod(retention.place_hold)
    data = {"holdId": "result.pk"}
    text = "User {user.external_id} of {user.partner.slug} is held: {holdId}."
