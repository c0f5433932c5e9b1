"""Demo data, made by the service's own rules, and then moved to the weeks before (backdating.py).

Made again, it is the same: what is there already stays. Only the key and the passwords are new.
"""

import random
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from partners.authentication import keys
from partners.db import history_context
from partners.models import ApiKey, Partner
from transactions.demo.backdating import backdate_records, backdate_users
from transactions.demo.conversions import import_conversions
from transactions.demo.document_files import publish_papers
from transactions.demo.plans import Life, Step, lives
from transactions.demo.reasons import REASONS
from transactions.models import Document
from users import queries
from users.api.serializers import UserSerializer
from users.models import Staff, Status, User
from users.services.compliance import PERMISSION, change_status
from users.services.profile import create_user, update_user
from users.services.roles import ROLES
from users.services.staff import create_staff

PARTNER = "demo"
KEY_LABEL = "seed_demo"
# Of each role there is one account, and of those who decide a second.
ACCOUNTS = {f"demo-{role}": role for role in ROLES} | {"demo-reviewer-2": "reviewer"}


@dataclass(frozen=True, slots=True)
class Account:
    """A staff account. password: the new one, which is shown once."""

    role: str
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Seeded:
    """What there is now, with what is shown once."""

    partner: Partner
    key: keys.IssuedKey
    staff: Sequence[Account] = field(repr=False)
    users: int
    conversions: int
    documents: int


def seed(*, users: int, conversions: int, say: Callable[[str], None] = lambda _: None) -> Seeded:
    """Makes a partner with a key, staff of every role, users in every status; conversions and papers of those active.

    users, conversions: how many of each there are to be in all. say: takes a line on what is done next.
    """
    partner, _ = Partner.objects.get_or_create(slug=PARTNER, defaults={"name": "Demo Bank"})
    staff = [_account(username, role) for username, role in ACCOUNTS.items()]
    began = timezone.now()
    # Seen from when the demo was first seeded, so that a second time plans the same.
    planned = list(lives(users, now=partner.created_at))
    say(f"Making {users} users, and deciding about them …")
    _make_users(partner, planned)
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


def _account(username: str, role: str) -> Account:
    present = Staff.objects.filter(username=username).first()
    if present is None:
        _, password = create_staff(username=username, email=f"{username}@example.com", role=role)
    else:
        password = secrets.token_urlsafe(16)
        present.set_password(password)
        present.password_is_one_time = True
        present.save(update_fields=["password", "password_is_one_time"])
    return Account(role, username, password)


def _make_users(partner: Partner, planned: Sequence[Life]) -> None:
    """Takes those who are not there yet through their lives, and then moves these to their times.

    The events of all of them are made in the order of their planned times, so that later rows have higher ids.
    """
    reviewers = list(Staff.objects.filter(username__in=_deciding()).order_by("pk"))
    present = set(User.objects.filter(partner=partner).values_list("external_id", flat=True))
    missing = [life for life in planned if life.external_id not in present]
    users: dict[int, User] = {}
    for _, life, step in sorted(_events(missing), key=lambda event: (event[0], event[1].number)):
        if step is None:
            users[life.number] = _create(partner, life)
        elif step.status is None:
            _update(users[life.number], step)
        else:
            _decide(users[life.number], step.status, reviewers)
    if users:
        backdate_users({users[life.number].pk: life.instants for life in missing})


def _deciding() -> list[str]:
    return [username for username, role in ACCOUNTS.items() if PERMISSION in ROLES[role]]


def _events(planned: Sequence[Life]) -> Iterator[tuple[datetime, Life, Step | None]]:
    """The time of each event, the user, and the step, which is None for the registration."""
    for life in planned:
        yield life.registered_at, life, None
        yield from ((step.at, life, step) for step in life.steps)


def _create(partner: Partner, life: Life) -> User:
    body = {"externalId": life.external_id, **life.profile}
    with transaction.atomic():
        history_context.set_context(partner=partner.slug, command="seed_demo")
        serializer = UserSerializer(data=body)
        serializer.is_valid(raise_exception=True)
        create_user(partner_id=partner.pk, external_id=life.external_id, profile=serializer.profile)
    return User.objects.get(partner=partner, external_id=life.external_id)


def _update(user: User, step: Step) -> None:
    with transaction.atomic():
        history_context.set_context(partner=user.partner.slug, command="seed_demo")
        stored = queries.lock(user.partner_id, user.external_id)
        assert stored is not None  # noqa: S101 - created above
        serializer = UserSerializer(stored.profile, data=dict(step.changes), partial=True)
        serializer.is_valid(raise_exception=True)
        update_user(user=stored, profile=serializer.profile)


def _decide(user: User, status: Status, reviewers: Sequence[Staff]) -> None:
    user.refresh_from_db()
    move = Status(user.status), status
    rng = random.Random(f"decision {user.external_id} {move}")  # noqa: S311 - the same each time, and nobody's secret
    code, reason = rng.choice(REASONS[move])
    by = rng.choice(reviewers)
    change_status(user=user, to_status=status, by=by, reason=reason, reason_code=code, source="seed_demo")
