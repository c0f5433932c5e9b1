"""Demo data, made by the service's own rules and dated back. Seeding again renews keys, passwords and proposals."""

import io
import json
import random
import secrets
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from itertools import count, cycle
from tempfile import NamedTemporaryFile
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import connections, models, transaction
from django.utils import timezone

from core.database import serving_role, statements
from events.webhooks import addresses, deliveries, delivering, endpoints
from partners.authentication import keys
from partners.models import ApiKey, Mode, Partner
from staff.accounts import create_staff
from staff.models import Staff
from staff.roles import ROLES
from transactions.documents.file_types import pdf
from transactions.documents.publishing import publish
from transactions.models import Conversion, Document, DocumentType
from users import models as rows
from users import queries, requirements
from users.api.serializers import CREATE, UPDATE
from users.claims import next_case
from users.decisions.compliance import PERMISSION, Decision, decide
from users.decisions.reasons import REASONS
from users.file import entries
from users.models import Status, User
from users.profile.field_rules import today
from users.requirements import open_requirement
from users.retention import place_hold

PARTNER, SANDBOX_PARTNER, COMMAND, SECOND = "demo", "demo-sandbox", "seed_demo", "demo-reviewer-2"
# One account of each role, and a second reviewer.
ACCOUNTS = {f"demo-{role}": role for role in ROLES} | {SECOND: "reviewer"}
# What is dated back, and whose it is.
_REQUIREMENT = "(SELECT user_id FROM users_requirement WHERE id = one.requirement_id)"
_ROWS: Mapping[type[models.Model], str] = {
    User: "one.id",
    rows.UserEvent: "one.pgh_obj_id",
    **dict.fromkeys((rows.StatusChange, rows.Requirement, rows.AccessRecord, rows.FileEntry), "one.user_id"),
    **dict.fromkeys((rows.RequirementResponse, rows.RequirementClosure), _REQUIREMENT),
}
FIRST_NAMES = ("Ada", "Émilie", "Grace", "Hedy", "Katherine", "Mary", "Noor", "Olivia", "Raphaël", "Samuel", "Tomás")
LAST_NAMES = ("Beaulieu", "Chen", "Diallo", "Fraser", "Gagnon", "Kaur", "MacLeod", "Nguyen", "Okafor", "Tremblay")
PLACES = (("Toronto", "ON", "M5X 1A9"), ("Montréal", "QC", "H3B 2Y5"), ("Vancouver", "BC", "V6C 3L6"))
PENDING, ACTIVE, REJECTED = Status.PENDING_COMPLIANCE, Status.ACTIVE, Status.REJECTED

# A decision of compliance, what it asks for (with a `code`), an entry in the file (with a `kind`), or fields of the
# partner; and the days until the next.
Event = Status | Mapping[str, Any]
Step = tuple[Event, float]
# The events of each ten users after their registration. Users without any are pending.
COURSES: tuple[tuple[Event, ...], ...] = (
    (ACTIVE,),
    (ACTIVE,),
    (),
    (ACTIVE, Status.SUSPENDED),
    (REJECTED,),
    (ACTIVE, {"lastName": "Okafor-Gagnon"}),
    (),
    (ACTIVE, Status.CLOSED),
    (ACTIVE, Status.SUSPENDED, ACTIVE),
    (REJECTED, {"addressLine1": "55 Water St", "addressLine2": "Unit 4"}, PENDING),
)
# Users whose records are due for erasure, due but held, due within a quarter; a pending CIRO affiliate, for two people.
DUE, HELD, DUE_SOON, PROPOSED = 5, 15, 25, 17
_FIRST_PERSON = {"firstName": "Grace", "lastName": "Chen", "dateOfBirth": "1984-03-17"}
# The value of one unit in CAD, and the decimals of amounts.
CURRENCIES = {"CAD": ("1", 2), "USD": ("1.392", 2), "EUR": ("1.615", 2), "USDC": ("1.391", 6), "BTC": ("128400", 8)}


def seed(*, users: int, conversions: int) -> dict[str, Any]:
    """Create what is missing of partners, staff, users and conversions; return what `seed_demo --json` prints."""
    partner, _ = Partner.objects.get_or_create(slug=PARTNER, defaults={"name": "Demo Bank"})
    sandbox = {"name": "Demo Bank, sandbox", "mode": Mode.SANDBOX}
    sandbox_partner, _ = Partner.objects.get_or_create(slug=SANDBOX_PARTNER, defaults=sandbox)
    staff = []
    for username, role in ACCOUNTS.items():
        password, found = secrets.token_urlsafe(16), Staff.objects.filter(username=username).first()
        with transaction.atomic():
            account = found or create_staff(username=username, email=f"{username}@example.com", role=role)
            # As of one that has signed in once: rules of two people need two.
            account.change_password(password, is_one_time=False)
        staff.append({"role": role, "username": username, "password": password})
    people = plan(users)
    _create_users(partner, people)
    customers = [one for one, steps in people.items() if any(event == ACTIVE for event, _ in steps)]
    _import_conversions(partner, customers, conversions)
    # Every document is a file, so that only the first users have any.
    for user in partner.users.filter(external_id__in=customers[:20], documents=None):
        converted = [
            f"{one.created_at:%Y-%m-%d}   {one.from_amount:f} {one.from_currency}   {one.to_amount:f} {one.to_currency}"
            for one in user.conversions.order_by("created_at")[:36]
        ]
        at = user.created_at + (timezone.now() - user.created_at) * 0.9
        for kind in DocumentType:
            content = pdf((kind.value, f"For {user.external_id}: a demo document, not a real one.", "", *converted))
            given: dict[str, Any] = {"title": str(kind.label), "content_type": "application/pdf", "content": content}
            publish(user=user, kind=kind, created_at=at, **given)
    counts = {"users": users, "conversions": conversions, "documents": Document.objects.filter(partner=partner).count()}
    return _new_key(partner) | {"sandbox": _new_key(sandbox_partner), "staff": staff} | counts


def summary(seeded: Mapping[str, Any]) -> list[str]:
    """Return what `seed` returned, for people."""
    text = "Partner   {partner}: {users} users, {conversions} conversions, {documents} documents\n".format_map(seeded)
    for one in (seeded, seeded["sandbox"]):
        text += f"API key   {one['apiKey']}\nSecret    {one['secret']}   ({one['partner']})\n"
    text += "\n".join(f"Staff     {account['username']:22} {account['password']}" for account in seeded["staff"])
    return text.split("\n")


def _new_key(partner: Partner) -> dict[str, Any]:
    """Issue a key in place of earlier ones, whose secrets cannot be shown again."""
    for old in ApiKey.objects.filter(partner=partner, label=COMMAND, revoked_at=None):
        keys.revoke(old)
    key = keys.issue(partner=partner, label=COMMAND)
    return {"partner": partner.slug, "apiKey": key.api_key, "secret": key.secret}


def _create_users(partner: Partner, people: Mapping[str, Sequence[Step]]) -> None:
    """Create the missing users: the first step of each, then the second of each, each time dated back."""
    deciders = [username for username, role in ACCOUNTS.items() if PERMISSION in ROLES[role]]
    staff = cycle(Staff.objects.filter(username__in=deciders).order_by("pk"))
    existing = set(partner.users.values_list("external_id", flat=True))
    missing = {one: steps for one, steps in people.items() if one not in existing}
    for number in count():
        current = {one: steps[number] for one, steps in missing.items() if number < len(steps)}
        if not current:
            break
        for one, (event, _) in current.items():
            if not isinstance(event, Status) and not event.keys() & {"kind", "code"}:
                _save_user(partner, one, event)
                continue
            user = partner.users.get(external_id=one)
            if isinstance(event, Status):
                by, reason = next(staff), REASONS[user.status, event][0]
                rows.AccessRecord.objects.create(kind=rows.AccessKind.OPENED, user=user, staff=by)
                why: dict[str, Any] = {"reason": f"{reason.text()}.", "reason_code": reason.value}
                decide(Decision(user=user, to_status=event, by=by, source=COMMAND, **why))
            elif "kind" in event:
                data = dict(event)
                entry = {"kind": data.pop("kind"), "data": data, "born": user.date_of_birth}
                entries.record(user_id=user.pk, by=next(staff), source=COMMAND, **entry)
            else:
                open_requirement(user=user, by=next(staff), source=COMMAND, **{"due_in_days": 14, **event})
        _make_older(partner, {one: days for one, (_, days) in current.items()})
    for user in partner.users.filter(external_id=external_id(HELD), holds=None):
        place_hold(user=user, by=next(staff), reason="A complaint of the user is open.", source=COMMAND)
    proposed = partner.users.filter(external_id=external_id(PROPOSED), status=PENDING)
    for user in proposed.exclude(proposals__in=rows.Proposal.objects.open()):
        call_command("set_approval_rule", PENDING, ACTIVE, "ciroAffiliate", stdout=io.StringIO())
        why = {"reason": "CIRO has confirmed it.", "reason_code": "riskFlagsExplained", "by": SECOND}
        call_command("propose_user_status", PARTNER, user.external_id, ACTIVE, **why, stdout=io.StringIO())
    if not partner.webhooks.exists():
        next_case(staff=Staff.objects.get(username=SECOND))
        # A test that fails: webhooks do not go to this machine.
        endpoint, _ = endpoints.create_endpoint(partner=partner, url=addresses.CheckedUrl("https://localhost/hook"))
        with transaction.atomic():
            leased = deliveries.lease_test(endpoint=endpoint)
        delivering.send_test(leased)
        endpoints.change_endpoint(endpoint, enabled=False)


@transaction.atomic
def _save_user(partner: Partner, external_id: str, fields: Mapping[str, Any]) -> None:
    """Create a user, or update the one of this externalId."""
    statements.set_context(partner=partner.slug, command=COMMAND)
    rows = statements.fetch(queries.lock(partner.pk, external_id))
    if rows:
        stored = queries.StoredUser.of(rows[0])
        profile, columns = UPDATE.updated(fields, stored.profile)
        requirements.update_user(user=stored, profile=profile, columns=columns)
    else:
        _, profile = CREATE.new_user({"externalId": external_id, **fields})
        statements.fetch(queries.insert(partner.pk, external_id, profile))


def _make_older(partner: Partner, days: Mapping[str, float]) -> None:
    """Date all that is recorded of users back: no role may, so the owner does it, without the triggers."""
    ids = dict(partner.users.filter(external_id__in=days).values_list("external_id", "pk"))
    older: list[Any] = [list(ids.values()), [float(days[one]) for one in ids]]
    with transaction.atomic(using=serving_role.OWNER), connections[serving_role.OWNER].cursor() as cursor:
        for model, user in _ROWS.items():
            table, columns = model._meta.db_table, model._meta.concrete_fields  # noqa: SLF001 - Django's public interface
            times = [one.column for one in columns if isinstance(one, models.DateTimeField)]
            changes = ", ".join(f"{time} = {time} - older.days * interval '1 day'" for time in times)
            source = "unnest(%s::uuid[], %s::float[]) AS older (id, days)"
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            cursor.execute(f"UPDATE {table} AS one SET {changes} FROM {source} WHERE {user} = older.id", older)
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
    connections[serving_role.OWNER].close()


def _import_conversions(partner: Partner, external_ids: Sequence[str], conversions: int) -> None:
    """Import the missing ones of this many conversions of these users; amounts agree with their rates."""
    existing = set(Conversion.objects.filter(partner=partner).values_list("conversion_id", flat=True))
    users = list(partner.users.filter(external_id__in=external_ids).order_by("external_id"))
    with NamedTemporaryFile("w", suffix=".ndjson") as file:
        for number in range(1, conversions + 1) if users else ():
            user, name, rng = users[number % len(users)], f"demo-cv-{number:08d}", random.Random(number)  # noqa: S311
            if name in existing:
                continue
            # Recent times are more likely. Every tenth has the same time as others of its user.
            at = timezone.now() - (timezone.now() - user.created_at) * rng.random() ** 2
            at = user.created_at + timedelta(days=1) if number % 10 == 0 else at
            source, target = rng.sample(list(CURRENCIES), 2)
            (value, decimals), (target_value, target_decimals) = CURRENCIES[source], CURRENCIES[target]
            amount = round(Decimal(rng.lognormvariate(6, 1)) / Decimal(value), decimals)
            rate = round(Decimal(value) / Decimal(target_value) * Decimal(rng.gauss(1, 0.01)), 12)
            received = {"currency": target, "amount": f"{round(amount * rate, target_decimals):f}"}
            of_user = {"partner": PARTNER, "externalId": user.external_id, "conversionId": name, "type": "conversion"}
            given = {"createdAt": at.isoformat(), "rate": f"{rate:f}", "to": received}
            line = {**of_user, **given, "from": {"currency": source, "amount": f"{amount:f}"}}
            file.write(json.dumps(line) + "\n")
        file.flush()
        call_command("import_conversions", file.name, stdout=io.StringIO())


def _later() -> Mapping[int, Sequence[Step]]:
    """What compliance asks of users and has in their files, by number; 3 has answered, 13 is overdue."""

    def day(days: int) -> str:
        return (today() + timedelta(days=days)).isoformat()

    address = {"code": "addressUnclear", "fields": ("address_line1",), "message": "Which postal code?"}
    funds = {"code": "sourceOfFunds", "fields": (), "message": "Where do the funds come from?", "due_in_days": 30}
    names = {"code": "nameUnclear", "fields": ("first_name",), "message": "Confirm the name.", "due_in_days": 1}
    proof = {"kind": "identityVerification", "method": "photoDocument", "documentType": "passport"}
    proof |= {"documentNumber": "DEMO-0001", "issuingCountry": "CA", "verifiedOn": day(-400)}
    match = {"kind": "screening", "list": "Demo list", "listDate": day(-9), "result": "possibleMatch"}
    rating = {"kind": "riskRating", "reason": "By its conversions.", "rating": "high", "reviewOn": day(-3)}
    request = {"kind": "personRequest", "request": "access", "identityCheck": "By telephone."}
    return {
        2: [(rating, 0.1)],
        3: [(address, 2.5), ({"addressLine1": "100 Laurier Ave W", "postalCode": "K1N 6N5"}, 0.4)],
        4: [(request | {"receivedOn": day(-18)}, 0.1)],
        7: [(funds, 5), (proof | {"expiresOn": day(-40)}, 0.1)],
        9: [(request | {"receivedOn": day(-45)}, 0.1)],
        13: [(names, 3.2), (match | {"reference": "D-13"}, 0.1)],
        23: [(proof | {"expiresOn": day(700)}, 0.1), ({"lastName": "Kaur-Gagnon"}, 0.1)],
    }


def external_id(number: int) -> str:
    """The externalId of a user by number, from 1."""
    return f"demo-{number:05d}"


def plan(users: int) -> dict[str, Sequence[Step]]:
    """The steps of users 1 to `users` by externalId; the first is the registration."""
    # What raises risk flags, for pending users.
    flagged: Sequence[Mapping[str, Any]] = (
        {"city": "Ottawa", "province": "ON", "postalCode": "J8X 3X1"},
        {"dateOfBirth": f"{timezone.now() - timedelta(days=18 * 365.25 + 12):%Y-%m-%d}"},
        _FIRST_PERSON | {"email": "User1@example.com"},
        {"isCiroAffiliate": True},
        {},
    )
    people, later, retention = dict[str, Sequence[Step]](), _later(), settings.RETENTION_YEARS * 365.25
    last = {1: 400.0, DUE: retention + 9, HELD: retention + 30, DUE_SOON: retention - 45}
    for number in range(1, users + 1):
        rng = random.Random(f"days {number}")  # noqa: S311 - repeatable, not secret
        course = COURSES[(number - 1) % len(COURSES)]
        special = _FIRST_PERSON if number == 1 else {} if course else flagged[number // 5 % len(flagged)]
        # Hours while it waits for compliance, weeks until later events, more since the last.
        waiting, since = rng.uniform(0.05, 2), 1 + 300 * rng.random() ** 3
        since = last.get(number, since if course and course[-1] != PENDING else waiting)
        days = [waiting, *(rng.uniform(2, 20) for _ in course[1:]), since] if course else [since]
        steps = zip(({**profile(number), **special}, *course), days, strict=True)
        people[external_id(number)] = (*steps, *later.get(number, ()))
    return people


def profile(number: int) -> dict[str, Any]:
    """The body of the registration."""
    rng = random.Random(f"profile {number}")  # noqa: S311 - repeatable, not secret
    city, province, postal_code = rng.choice(PLACES)
    birth = date(1950, 1, 1) + timedelta(days=rng.randrange(20_000))
    return (
        {"externalId": external_id(number), "email": f"user{number}@example.com", "dateOfBirth": birth.isoformat()}
        | {"firstName": rng.choice(FIRST_NAMES), "lastName": rng.choice(LAST_NAMES), "isCiroAffiliate": False}
        | {"addressLine1": f"{rng.randrange(10, 2000)} King St", "city": city, "province": province, "country": "CA"}
        | {"postalCode": postal_code, "occupation": rng.choice(("Engineer", "Nurse", "Teacher", "Carpenter"))}
    )
