"""Demo data, made by the service's own rules.

Seeding again adds nothing: only the key and the passwords are new.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import Any

from django.db import transaction

from partners.authentication import keys
from partners.db import history_context, statements
from partners.models import ApiKey, Mode, Partner
from transactions.demo.conversions import import_conversions
from transactions.demo.documents import publish_documents
from transactions.demo.people import ACTIVE, CLOSED, PENDING, REJECTED, SUSPENDED, Event, Question, plan
from transactions.models import Document
from users import queries
from users.api.serializers import UserSerializer
from users.decisions import proposals
from users.decisions.approval_rules import needs_two
from users.decisions.compliance import PERMISSION, change_status
from users.models import Staff, Status, User
from users.requirements.requirements import open_requirement
from users.staff.roles import ROLES
from users.staff.staff import create_staff
from users.updates import creation, update_user

PARTNER = "demo"
SANDBOX_PARTNER = "demo-sandbox"
COMMAND = "seed_demo"
# One account of each role, and a second reviewer.
ACCOUNTS = {f"demo-{role}": role for role in ROLES} | {"demo-reviewer-2": "reviewer"}
# A reason for each change of a status: its code (users/decisions/reasons.py) and a sentence.
REASONS = {
    (PENDING, ACTIVE): ("verified", "Identity and address verified."),
    (PENDING, REJECTED): ("notVerified", "The address could not be verified."),
    (REJECTED, PENDING): ("newInformation", "The user sent a new proof of address."),
    (ACTIVE, SUSPENDED): ("unusualActivity", "Unusual conversions are under review."),
    (SUSPENDED, ACTIVE): ("cleared", "The source of funds is documented."),
    (ACTIVE, CLOSED): ("userRequest", "The user asked for it."),
}


def seed(*, users: int, conversions: int, report: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Create what is missing of a partner, staff, and this many users and conversions, with documents.

    Returns what `seed_demo --json` prints: counts, and credentials that are shown this once.
    """
    partner, _ = Partner.objects.get_or_create(slug=PARTNER, defaults={"name": "Demo Bank"})
    sandbox, _ = Partner.objects.get_or_create(
        slug=SANDBOX_PARTNER, defaults={"name": "Demo Bank, sandbox", "mode": Mode.SANDBOX}
    )
    staff = [_staff_account(username, role) for username, role in ACCOUNTS.items()]
    people = plan(users)
    report(f"Creating {users} users with their decisions …")
    _create_users(partner, people)
    customers = [external_id for external_id, events in people.items() if ACTIVE in events]
    report(f"Importing {conversions} conversions …")
    import_conversions(partner, customers, conversions=conversions)
    report("Publishing documents …")
    publish_documents(partner, customers)
    counts = {"users": users, "conversions": conversions, "documents": Document.objects.filter(partner=partner).count()}
    return _new_key(partner) | {"sandbox": _new_key(sandbox), "staff": staff} | counts


def summary(seeded: Mapping[str, Any]) -> list[str]:
    """Return what `seed` returned, for people."""
    sandbox = seeded["sandbox"]
    return [
        "Partner   {partner}: {users} users, {conversions} conversions, {documents} documents".format_map(seeded),
        f"API key   {seeded['apiKey']}",
        f"Secret    {seeded['secret']}",
        f"Sandbox   {sandbox['partner']}",
        f"API key   {sandbox['apiKey']}",
        f"Secret    {sandbox['secret']}",
        *(f"Staff     {account['username']:22} {account['password']}" for account in seeded["staff"]),
    ]


def _new_key(partner: Partner) -> dict[str, Any]:
    """Issue a key in place of earlier ones, whose secrets cannot be shown again."""
    for old in ApiKey.objects.filter(partner=partner, label=COMMAND, revoked_at=None):
        keys.revoke(old)
    key = keys.issue(partner=partner, label=COMMAND)
    return {"partner": partner.slug, "apiKey": key.api_key, "secret": key.secret}


@transaction.atomic
def _staff_account(username: str, role: str) -> Mapping[str, str]:
    staff = Staff.objects.filter(username=username).first()
    if staff is None:
        _, password = create_staff(username=username, email=f"{username}@example.com", role=role)
    else:
        password, staff.password_is_one_time = secrets.token_urlsafe(16), True
        staff.set_password(password)
        staff.save(update_fields=["password", "password_is_one_time"])
    return {"role": role, "username": username, "password": password}


def _create_users(partner: Partner, people: Mapping[str, Sequence[Event]]) -> None:
    """Create the missing users with their events."""
    deciders = [username for username, role in ACCOUNTS.items() if PERMISSION in ROLES[role]]
    staff = list(Staff.objects.filter(username__in=deciders).order_by("pk"))
    # Who decides, and the second person where it takes two.
    pairs = cycle(zip(staff, staff[1:] + staff[:1], strict=True))
    existing = set(User.objects.filter(partner=partner).values_list("external_id", flat=True))
    for external_id in [external_id for external_id in people if external_id not in existing]:
        for event in people[external_id]:
            if isinstance(event, Status):
                _decide(partner, external_id, event, *next(pairs))
            elif isinstance(event, Question):
                _ask(partner, external_id, event, by=next(pairs)[0])
            else:
                _save_user(partner, external_id, event)


def _save_user(partner: Partner, external_id: str, fields: Mapping[str, Any]) -> None:
    """Create a user, or update the one of this externalId."""
    with transaction.atomic():
        history_context.set_context(partner=partner.slug, command=COMMAND)
        stored = next(iter(statements.fetch(queries.lock(partner.pk, external_id))), None)
        serializer = UserSerializer(stored and stored.profile, data=dict(fields), partial=bool(stored))
        serializer.is_valid(raise_exception=True)
        if stored:
            update_user(user=stored, profile=serializer.profile, columns=serializer.validated_data.keys())
        else:
            statements.fetch(creation(partner_id=partner.pk, external_id=external_id, profile=serializer.profile))


def _ask(partner: Partner, external_id: str, question: Question, by: Staff) -> None:
    open_requirement(
        user=partner.users.get(external_id=external_id),
        code=question.code,
        fields=question.fields,
        message=question.message,
        due_in_days=question.due_in_days,
        by=by,
        source=COMMAND,
    )


def _decide(partner: Partner, external_id: str, status: Status, by: Staff, second: Staff) -> None:
    user = partner.users.get(external_id=external_id)
    code, reason = REASONS[Status(user.status), status]
    decision: dict[str, Any] = {"to_status": status, "reason": reason, "reason_code": code, "source": COMMAND}
    # An earlier demo has set a rule.
    if needs_two(user, status):
        proposals.approve(proposal_id=proposals.propose(user=user, by=by, **decision).pk, by=second, source=COMMAND)
    else:
        change_status(user=user, by=by, **decision)
