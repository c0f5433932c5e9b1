"""Demo data, made by the service's own rules and then moved to the past weeks (backdating.py).

Seeding again adds nothing: only the key and the passwords are new.
"""

import random
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from django.db import transaction
from django.utils import timezone

from partners.authentication import keys
from partners.db import history_context
from partners.models import ApiKey, Mode, Partner
from transactions.demo.backdating import backdate_records, backdate_users
from transactions.demo.conversions import import_conversions
from transactions.demo.document_files import publish_documents
from transactions.demo.people import ACTIVE, CLOSED, PENDING, REJECTED, SUSPENDED, Person, plan
from transactions.models import Document
from users import queries
from users.api.serializers import UserSerializer
from users.models import Staff, Status, User
from users.services.compliance import PERMISSION, change_status
from users.services.profile import create_user, update_user
from users.services.roles import ROLES
from users.services.staff import create_staff

PARTNER = "demo"
SANDBOX_PARTNER = "demo-sandbox"
COMMAND = "seed_demo"
# One account of each role, and a second reviewer.
ACCOUNTS = {f"demo-{role}": role for role in ROLES} | {"demo-reviewer-2": "reviewer"}
# Reason codes (users/services/reasons.py) and sentences for each change of a status.
REASONS = {
    (PENDING, ACTIVE): (
        ("verified", "Identity and address verified."),
        ("verified", "Driving licence and a utility bill agree with the profile."),
        ("verified", "Passport checked; the address is that of the credit file."),
        ("riskFlagsExplained", "The user moved last month, which explains the postal code."),
    ),
    (PENDING, REJECTED): (
        ("notVerified", "The address could not be verified."),
        ("notVerified", "The identity document has expired, and no other was sent."),
        ("notVerified", "Name and date of birth do not match the identity document."),
    ),
    (REJECTED, PENDING): (
        ("newInformation", "The user sent a new proof of address."),
        ("newInformation", "The partner corrected the address."),
    ),
    (ACTIVE, SUSPENDED): (
        ("unusualActivity", "Unusual conversions are under review."),
        ("unusualActivity", "Several large conversions in one day; the user was asked about the source of funds."),
        ("partnerRequest", "The partner reported a lost phone."),
    ),
    (SUSPENDED, ACTIVE): (
        ("cleared", "The source of funds is documented."),
        ("verified", "The user was identified again by telephone."),
    ),
    (ACTIVE, CLOSED): (
        ("userRequest", "The user asked for it."),
        ("partnerRequest", "The user's contract with the partner has ended."),
    ),
}


@dataclass(frozen=True, slots=True)
class Seeded:
    """The demo's data, with the credentials that are shown once. staff: role, username and password of each.

    sandbox_key: of the sandbox partner, which has no users until somebody uses it.
    """

    partner: Partner
    key: keys.IssuedKey
    sandbox_key: keys.IssuedKey
    staff: Sequence[Mapping[str, str]] = field(repr=False)
    users: int
    conversions: int
    documents: int


def seed(*, users: int, conversions: int, report: Callable[[str], None] = lambda _: None) -> Seeded:
    """Create what is missing of a partner with a key, staff, and this many users and conversions, with documents."""
    partner, _ = Partner.objects.get_or_create(slug=PARTNER, defaults={"name": "Demo Bank"})
    staff = [_staff_account(username, role) for username, role in ACCOUNTS.items()]
    began = timezone.now()
    # The first seeding's time, so that a second one makes the same plan.
    people = plan(users, now=partner.created_at)
    report(f"Creating {users} users with their decisions …")
    _create_users(partner, people)
    report(f"Importing {conversions} conversions …")
    import_conversions(partner, people, conversions=conversions)
    report("Publishing documents …")
    publish_documents(partner, people)
    backdate_records(partner, since=began)
    documents = Document.objects.filter(partner=partner).count()
    sandbox_partner, _ = Partner.objects.get_or_create(
        slug=SANDBOX_PARTNER, defaults={"name": "Demo Bank, sandbox", "mode": Mode.SANDBOX}
    )
    return Seeded(partner, _new_key(partner), _new_key(sandbox_partner), staff, users, conversions, documents)


def _new_key(partner: Partner) -> keys.IssuedKey:
    """Issue a key in place of earlier ones, whose secrets cannot be shown again."""
    for old in ApiKey.objects.filter(partner=partner, label=COMMAND, revoked_at=None):
        keys.revoke(old)
    return keys.issue(partner=partner, label=COMMAND)


def _staff_account(username: str, role: str) -> Mapping[str, str]:
    staff = Staff.objects.filter(username=username).first()
    if staff is None:
        _, password = create_staff(username=username, email=f"{username}@example.com", role=role)
    else:
        password = secrets.token_urlsafe(16)
        staff.set_password(password)
        staff.password_is_one_time = True
        staff.save(update_fields=["password", "password_is_one_time"])
    return {"role": role, "username": username, "password": password}


def _create_users(partner: Partner, people: Sequence[Person]) -> None:
    """Create the missing users with their events, in the order of the planned times: later rows have higher ids."""
    deciders = [username for username, role in ACCOUNTS.items() if PERMISSION in ROLES[role]]
    reviewers = list(Staff.objects.filter(username__in=deciders).order_by("pk"))
    existing = set(User.objects.filter(partner=partner).values_list("external_id", flat=True))
    missing = [person for person in people if person.external_id not in existing]
    users: dict[str, User] = {}
    events = [(at, person.external_id, event) for person in missing for at, event in person.events]
    for _, external_id, event in sorted(events, key=itemgetter(0, 1)):
        if isinstance(event, Status):
            _decide(users[external_id], event, reviewers)
        elif external_id in users:
            _save_user(partner, event, external_id)
        else:
            _save_user(partner, event)
            users[external_id] = User.objects.get(partner=partner, external_id=external_id)
    if users:
        backdate_users({users[person.external_id].pk: [at for at, _ in person.events] for person in missing})


def _save_user(partner: Partner, fields: Mapping[str, Any], external_id: str | None = None) -> None:
    """Create a user, or update the one of this externalId."""
    with transaction.atomic():
        history_context.set_context(partner=partner.slug, command=COMMAND)
        stored = queries.lock(partner.pk, external_id) if external_id else None
        serializer = UserSerializer(stored and stored.profile, data=dict(fields), partial=bool(stored))
        serializer.is_valid(raise_exception=True)
        if stored:
            update_user(user=stored, profile=serializer.profile)
        else:
            create_user(partner_id=partner.pk, external_id=fields["externalId"], profile=serializer.profile)


def _decide(user: User, status: Status, reviewers: Sequence[Staff]) -> None:
    user.refresh_from_db()
    change = Status(user.status), status
    rng = random.Random(f"decision {user.external_id} {change}")  # noqa: S311 - repeatable, not secret
    code, reason = rng.choice(REASONS[change])
    by = rng.choice(reviewers)
    change_status(user=user, to_status=status, by=by, reason=reason, reason_code=code, source=COMMAND)
