from core.management.arguments import REASON
from core.management.base import ServiceCommand
from staff.access import disable
from staff.management import STAFF


class Command(ServiceCommand):
    help = "Disables a staff account: it is signed out, its claims return to the queue, its proposals are declined."
    arguments = (STAFF, REASON)
    rule = staticmethod(disable)
    data = {
        "username": "staff.username",
        "sessions": "result.sessions",
        "claims": "result.claims",
        "proposals": "result.proposals",
    }
    text = (
        "Staff account {username} is disabled; sessions ended: {sessions}, claims back in the queue: {claims},"
        " proposals declined: {proposals}."
    )
