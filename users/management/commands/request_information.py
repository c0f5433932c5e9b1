from core.management.arguments import Argument, number
from users.management import TAKE_OVER, USER, CaseCommand, by
from users.models import RequirementCode
from users.models.columns import FIELD_NAMES
from users.models.requirements import MAX_DUE_DAYS
from users.requirements import DEFAULT_DUE_DAYS, open_requirement


class Command(CaseCommand):
    help = "Asks a partner for information about a user: opens a requirement, with the rules of the back office."
    arguments = (
        USER,
        Argument("--code", required=True, choices=RequirementCode.values, help="what is needed"),
        Argument(
            "--field",
            action="append",
            default=[],
            dest="fields",
            metavar="NAME",
            choices=list(FIELD_NAMES.values()),
            find=lambda names: [column for column, name in FIELD_NAMES.items() if name in names],
            help="a field that an update must have to answer it, such as addressLine1; may be repeated",
        ),
        Argument("--message", default="", metavar="TEXT", help="for the partner, in English"),
        number("--due-in-days", 1, MAX_DUE_DAYS, f"1 to {MAX_DUE_DAYS}", default=DEFAULT_DUE_DAYS),
        by(),
        TAKE_OVER,
    )
    rule = staticmethod(open_requirement)
    data = {"requirementId": "result.pk", "dueAt": "result.due_at"}
    text = "Requirement {requirementId} waits for the partner's answer, due {dueAt}."
