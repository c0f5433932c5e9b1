from core.management.arguments import reason
from core.management.base import Outcome, ServiceCommand
from staff.models import Staff
from users.management import ERASER, USER, by
from users.models import User
from users.retention.holds import place_hold


class Command(ServiceCommand):
    help = "Keeps a user's records, whatever the clock of their retention says, until another person releases the hold."
    arguments = (USER, reason("stored with the user's records"), by(ERASER))

    def perform(self, *, user: User, reason: str, by: Staff) -> Outcome:
        hold = place_hold(user_id=user.pk, reason=reason, by=by)
        return Outcome({"holdId": hold.pk}, f"User {user.external_id} of {user.partner.slug} is held: {hold.pk}.")
