from core.management.arguments import Argument, number
from core.management.base import Outcome, ServiceCommand, listing
from partners.management import find_partner
from partners.models import Partner
from users.file.entries import open_entries
from users.file.kinds import KINDS, PERSON_REQUEST, RISK_RATING, SCREENING

LISTED = [kind.code.value for kind in (SCREENING, RISK_RATING, PERSON_REQUEST)]


class Command(ServiceCommand):
    help = "Lists what needs somebody: possible matches, reviews and requests of persons; the soonest first."
    arguments = (
        Argument("kind", metavar="KIND", choices=LISTED, help=f"one of: {', '.join(LISTED)}"),
        number("--due-within-days", 0, 36_500, "also what will be due within so many days", default=0),
        Argument("--partner", metavar="SLUG", find=find_partner, help="only its users; default: of all live partners"),
    )

    def perform(self, *, kind: str, due_within_days: int, partner: Partner | None) -> Outcome:
        return listing(
            "entries",
            [
                {
                    "partner": entry.user.partner.slug,
                    "externalId": entry.user.external_id,
                    "kind": entry.kind,
                    "createdAt": entry.created_at,
                    "dueOn": entry.due_on and entry.due_on.isoformat(),
                }
                | ({name: entry.fields.get(name) for name in ("list", "reference")} if kind == SCREENING.code else {})
                for entry in open_entries(KINDS[kind], due_within_days=due_within_days, partner=partner)
            ],
        )
