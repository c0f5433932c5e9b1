from core.management.arguments import reason
from core.management.base import ServiceCommand
from staff.access import reset_second_factor
from staff.management import STAFF


class Command(ServiceCommand):
    help = "Removes a lost second factor and ends the person's sessions; they enrol again at the next login."
    arguments = (STAFF, reason("stored permanently: how you verified their identity"))
    rule = staticmethod(reset_second_factor)
    data = {"username": "staff.username", "factors": "result.factors", "sessions": "result.sessions"}
    text = (
        "Second factors removed from {username}: {factors}; sessions ended: {sessions}.\n"
        "They enrol a new one at the next login."
    )
