from datetime import timedelta

from core.management.base import Outcome, ServiceCommand, plain
from partners.authentication import keys
from partners.management import API_KEY, issued_key, overlap_hours
from partners.models import ApiKey


class Command(ServiceCommand):
    help = "Issues an API key in place of another, which expires when the overlap ends."
    shows_secret = True
    arguments = (API_KEY, overlap_hours(keys.MAX_OVERLAP, "how long both keys are in force"))

    def perform(self, *, api_key: ApiKey, overlap_hours: int) -> Outcome:
        issued = keys.rotate(api_key, overlap=timedelta(hours=overlap_hours))
        api_key.refresh_from_db(fields=["expires_at"])
        return issued_key(issued, [f"Old key:  {api_key.prefix} expires at {plain(api_key.expires_at)}"])
