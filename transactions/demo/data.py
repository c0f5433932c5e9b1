"""Demo data, made by the service's own rules, and then moved to the weeks before (backdating.py).

Made again, it is the same: what is there already stays. Only the key and the passwords are new.
"""

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from partners import history, keys
from partners.api.errors import ConflictError
from partners.models import ApiKey, Partner
from transactions.demo.backdating import backdate_records, backdate_users
from transactions.demo.conversions import import_conversions
from transactions.demo.lives import Life, Step, lives
from transactions.demo.papers import publish_papers
from transactions.models import Document
from users.compliance import change_status
from users.models import Staff, User
from users.profile import create_user, update_user
from users.roles import ROLES
from users.staff import create_staff
from users.statuses import Status

PARTNER = "demo"
KEY_LABEL = "seed_demo"
# With a code of those that the case page offers (users/backoffice/reasons.py).
REASONS = {
    Status.ACTIVE: ("verified", "Identity and address verified."),
    Status.REJECTED: ("notVerified", "The address could not be verified."),
    Status.PENDING_COMPLIANCE: ("newInformation", "The user sent a new proof of address."),
    Status.SUSPENDED: ("unusualActivity", "Unusual conversions are under review."),
    Status.CLOSED: ("userRequest", "The user asked for it."),
}


@dataclass(frozen=True, slots=True)
class Seeded:
    """What there is now, with what is shown once."""

    partner: Partner
    key: keys.IssuedKey
    # By role: user name and password.
    staff: dict[str, tuple[str, str]] = field(repr=False)
    users: int
    conversions: int
    documents: int


def seed(*, users: int, conversions: int, say: Callable[[str], None] = lambda _: None) -> Seeded:
    """Makes a partner with a key, staff of every role, users in every status; conversions and papers of those active.

    users, conversions: how many of each there are to be in all. say: takes a line on what is done next.
    """
    partner, _ = Partner.objects.get_or_create(slug=PARTNER, defaults={"name": "Demo Bank"})
    staff = {role: _staff_member(role) for role in ROLES}
    began = timezone.now()
    # Seen from when the demo was first seeded, so that a second time plans the same.
    planned = list(lives(users, now=partner.created_at))
    say(f"Making {users} users, and deciding about them …")
    _make_users(partner, planned, Staff.objects.get(username=staff["reviewer"][0]))
    say(f"Importing {conversions} conversions …")
    import_conversions(partner, planned, conversions=conversions)
    say("Publishing documents …")
    publish_papers(partner, planned)
    backdate_records(partner, since=began)
    # Earlier keys of the demo cannot be shown again.
    for old in ApiKey.objects.filter(partner=partner, label=KEY_LABEL, revoked_at=None):
        keys.revoke(old)
    documents = Document.objects.filter(partner=partner).count()
    return Seeded(partner, keys.issue(partner=partner, label=KEY_LABEL), staff, users, conversions, documents)


def _staff_member(role: str) -> tuple[str, str]:
    username = f"demo-{role}"
    present = Staff.objects.filter(username=username).first()
    if present is None:
        _, password = create_staff(username=username, email=f"{username}@example.com", role=role)
    else:
        password = secrets.token_urlsafe(16)
        present.set_password(password)
        present.password_is_one_time = True
        present.save(update_fields=["password", "password_is_one_time"])
    return username, password


def _make_users(partner: Partner, planned: Sequence[Life], reviewer: Staff) -> None:
    """Takes those who are not there yet through their lives, and then moves these to their times."""
    made: dict[UUID, Sequence[datetime]] = {}
    for life in planned:
        user = _create(partner, life)
        if user is not None:
            for step in life.steps:
                _take(step, user, reviewer)
            made[user.pk] = life.instants
    if made:
        backdate_users(made)


def _create(partner: Partner, life: Life) -> User | None:
    body = {"externalId": life.external_id, **life.profile}
    try:
        with transaction.atomic():
            history.set_context(partner=partner.slug, command="seed_demo")
            create_user(partner_id=partner.pk, body=json.dumps(body).encode())
    except ConflictError:
        return None
    return User.objects.get(partner=partner, external_id=life.external_id)


def _take(step: Step, user: User, reviewer: Staff) -> None:
    if step.status is None:
        with transaction.atomic():
            history.set_context(partner=user.partner.slug, command="seed_demo")
            update_user(
                partner_id=user.partner_id, external_id=user.external_id, body=json.dumps(dict(step.changes)).encode()
            )
        return
    code, reason = REASONS[step.status]
    change_status(user=user, to_status=step.status, by=reviewer, reason=reason, reason_code=code, source="seed_demo")
