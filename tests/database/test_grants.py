"""The serving role's privileges on each table. A new table must be added here."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import IntegrityError, ProgrammingError, connections, transaction
from django.db.backends.utils import CursorWrapper

from core.database import privileges, serving_role
from partners.authentication import keys
from partners.models import ApiKey, Partner
from users.models.columns import PROFILE_COLUMNS

PROFILE = ", ".join(PROFILE_COLUMNS)
# Columns made of the name, for comparing and finding.
FOLDED = "name_key, name_words"
READ = {"SELECT"}
ADD = {"SELECT", "INSERT"}

GRANTS = {
    # A key's owner, prefix and digest never change; a trigger keeps it until a year after its end.
    "partners_partner": ADD | {"UPDATE (enabled, name, rate_limit)"},
    "partners_apikey": ADD | {"UPDATE (encrypted_secret, expires_at, last_used_at, revoked_at)", "DELETE"},
    # What serves its time and goes.
    "partners_idempotencyrecord": ADD
    | {"UPDATE (body, completed_at, fingerprint, location, method, path, status)", "DELETE"},
    "partners_usedsignature": ADD | {"DELETE"},
    "partners_sandboxrequest": ADD | {"DELETE"},
    # The outbox is written by triggers; functions make events of it, and purge them.
    "events_outboxentry": READ,
    "events_event": READ,
    "events_eventfeed": READ,
    "events_webhookendpoint": ADD
    | {
        (
            "UPDATE (description, disabled_at, disabled_reason, failing_days, failing_since, fan_out_after,"
            " last_success_at, position, removed_at, types, url)"
        ),
        "DELETE",
    },
    "events_webhooksecret": ADD | {"UPDATE (encrypted_secret, expires_at)", "DELETE"},
    "events_webhookdelivery": ADD
    | {"UPDATE (attempt_count, attempts, ended_at, leased_until, next_attempt_at, state)", "DELETE"},
    # Users: what a partner may change, and what is made of it; status and times are the triggers'.
    "users_user": READ
    | {f"INSERT ({', '.join(sorted(f'{PROFILE}, {FOLDED}, external_id, id, partner_id'.split(', ')))})"}
    | {f"UPDATE ({', '.join(sorted(f'{PROFILE}, {FOLDED}'.split(', ')))})"},
    # Kept for good: added to, or written by triggers alone.
    "users_userevent": READ,
    "users_statuschange": READ
    | {
        (
            "INSERT (basis, by_id, common_maker, created_at, from_status, is_sandbox, partner_id, proposal_id, reason,"
            " reason_code, to_status, user_id, waiting_since)"
        )
    },
    # The owner sets the rules. A proposal ends once, as a trigger has it.
    "users_approvalrule": READ,
    "users_proposal": ADD | {"UPDATE (ended_by_id, note, state)"},
    "users_requirement": ADD,
    "users_requirementresponse": READ | {"INSERT (context, created_at, note, profile_event, requirement_id)"},
    "users_requirementclosure": ADD,
    "users_accessrecord": ADD,
    "users_hold": ADD,
    "users_holdrelease": ADD,
    "users_erasureproposal": ADD | {"UPDATE (ended_by_id, note, state)"},
    "users_proposederasure": ADD,
    # Its insert erases a user, which the owner alone does.
    "users_erasure": READ,
    "transactions_erasedfile": READ,
    "users_casenote": ADD,
    "transactions_conversion": READ
    | {
        (
            "INSERT (conversion_id, created_at, from_amount, from_currency, is_sandbox, partner_id, rate, tiebreak,"
            " to_amount, to_currency, type, user_id, while_inactive)"
        )
    },
    "transactions_document": ADD,
    "transactions_documentwithdrawal": ADD,
    "django_admin_log": set(),
    # The audit log, and the histories that write to it; the time of a line is the database's.
    "core_auditentry": READ | {"INSERT (action, actor, actor_kind, detail, object)", "DELETE"},
    "partners_partnerevent": READ,
    "partners_apikeyevent": READ,
    "events_webhookendpointevent": READ,
    "events_webhooksecretevent": READ,
    "staff_staffevent": READ,
    "staff_staffroleevent": READ,
    "staff_secondfactorevent": READ,
    "users_claim": ADD | {"DELETE"},
    # Staff: Django and allauth write whole rows. Accounts are never removed.
    "staff_staff": ADD | {"UPDATE"},
    "staff_staff_groups": ADD | {"DELETE"},
    "mfa_authenticator": ADD | {"UPDATE", "DELETE"},
    "django_session": ADD | {"UPDATE (expire_date, session_data)", "DELETE"},
    "staff_cache": ADD | {"UPDATE (expires, value)", "DELETE"},
    "socialaccount_socialaccount": ADD | {"UPDATE"},
    "socialaccount_socialapp": set(),
    "socialaccount_socialtoken": set(),
    # Kept by migrations.
    "staff_staff_user_permissions": READ,
    "auth_group": READ,
    "auth_group_permissions": READ,
    "auth_permission": READ,
    "django_content_type": READ,
    "django_migrations": READ,
    "pghistory_context": READ,
    # Not used: staff have no mailbox here.
    "account_emailaddress": READ,
    "account_emailconfirmation": READ,
}

HOUR = timedelta(hours=1)
both_databases = pytest.mark.django_db(databases=[serving_role.SERVING, serving_role.OWNER])


@pytest.fixture
def owner(db: None) -> Iterator[CursorWrapper]:
    with connections[serving_role.OWNER].cursor() as cursor:
        yield cursor


@pytest.fixture
def role() -> str:
    name = serving_role.serving_role()
    assert name
    return name


@both_databases
def test_the_serving_role_has_these_privileges_and_no_others(owner: CursorWrapper, role: str) -> None:
    held = privileges.effective(owner, role)
    assert {table: sorted(held.get(table, ())) for table in sorted(GRANTS | held)} == {
        table: sorted(GRANTS.get(table, ())) for table in sorted(GRANTS | held)
    }


@both_databases
def test_every_table_is_in_the_list(owner: CursorWrapper) -> None:
    owner.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        " AND relkind IN ('r', 'p', 'v', 'm', 'f')"
    )
    assert {name for (name,) in owner.fetchall()} == set(GRANTS)


@both_databases
def test_a_new_table_function_and_sequence_are_denied(owner: CursorWrapper, role: str) -> None:
    owner.execute("CREATE TABLE made_today (id int GENERATED BY DEFAULT AS IDENTITY)")
    owner.execute("CREATE SEQUENCE numbers_of_today")
    owner.execute("CREATE FUNCTION done_today() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'")
    assert "made_today" not in privileges.effective(owner, role)
    assert privileges.other_privileges(owner, role) == []


@both_databases
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("GRANT USAGE ON SEQUENCE partners_partner_id_seq TO {role}", "sequence partners_partner_id_seq"),
        ("GRANT EXECUTE ON FUNCTION _pgh_attach_context() TO PUBLIC", "function _pgh_attach_context"),
        ("GRANT CREATE ON SCHEMA public TO {role}", "CREATE in the schema public"),
        ("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {role}", "default privileges"),
    ],
)
def test_other_privileges_are_reported_and_revoked(owner: CursorWrapper, role: str, statement: str, told: str) -> None:
    owner.execute(statement.format(role=role))
    assert told in privileges.other_privileges(owner, role)[0]
    serving_role.grant(role)
    assert privileges.other_privileges(owner, role) == []


@both_databases
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("GRANT UPDATE (status) ON users_user TO PUBLIC", "status"),
        ("CREATE TABLE forgotten (a int); GRANT SELECT ON forgotten TO PUBLIC", "SELECT on forgotten"),
        ("GRANT REFERENCES ON users_user TO PUBLIC", "REFERENCES on users_user"),
    ],
)
def test_further_privileges_of_public_are_refused(owner: CursorWrapper, statement: str, told: str) -> None:
    owner.execute(statement)
    with pytest.raises(Exception, match="further privileges") as refused:
        serving_role.set_up()
    assert told in str(refused.value)


@both_databases
def test_only_named_roles_may_connect_and_create_temporary_tables(owner: CursorWrapper, role: str) -> None:
    owner.execute(
        "SELECT coalesce(r.rolname, 'PUBLIC'), array_agg(a.privilege_type::text ORDER BY a.privilege_type)"
        "  FROM pg_database d, aclexplode(d.datacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee"
        " WHERE d.datname = current_database() AND NOT pg_has_role(a.grantee, d.datdba, 'MEMBER') GROUP BY 1"
    )
    assert dict(owner.fetchall()) == {role: ["CONNECT", "TEMPORARY"]}


def refused_to_the_owner(statement: str, *parameters: int) -> str:
    """What the database says to the owner of the tables, whom no grant stops."""
    with pytest.raises(IntegrityError) as refused, transaction.atomic(using=serving_role.OWNER):
        connections[serving_role.OWNER].cursor().execute(statement, parameters)
    return str(refused.value)


@pytest.fixture
def key(committed_partner: Partner) -> Iterator[ApiKey]:
    """A key that other sessions see, revoked, and expired while it was in force."""
    record = keys.issue(partner=committed_partner).record
    keys.revoke(record)
    yield record
    connections[serving_role.OWNER].close()


@pytest.mark.parametrize("instant", ["NULL", "now() + interval '1 day'", "now() - interval '1 day'"])
def test_a_revoked_key_stays_revoked_for_every_role(key: ApiKey, instant: str) -> None:
    statement = f"UPDATE partners_apikey SET revoked_at = {instant} WHERE id = %s"
    assert "stays revoked" in refused_to_the_owner(statement, key.pk)
    with pytest.raises(IntegrityError, match="stays revoked"):
        ApiKey.objects.filter(pk=key.pk).update(revoked_at=None)


@pytest.mark.parametrize("instant", ["NULL", "expires_at + interval '1 microsecond'"])
def test_a_keys_life_only_shortens(committed_partner: Partner, instant: str) -> None:
    record = keys.rotate(keys.issue(partner=committed_partner).record, overlap=HOUR).record
    old = ApiKey.objects.exclude(pk=record.pk).get(partner=committed_partner)
    assert old.expires_at is not None
    statement = f"UPDATE partners_apikey SET expires_at = {instant} WHERE id = %s"
    assert "no later" in refused_to_the_owner(statement, old.pk)
    ApiKey.objects.filter(pk=old.pk).update(expires_at=old.created_at)
    connections[serving_role.OWNER].close()


@pytest.mark.parametrize("column", ["partner_id", "prefix", "digest", "created_at"])
def test_a_key_stays_whose_it_was(key: ApiKey, column: str) -> None:
    values = {"partner_id": "0", "prefix": "'psi_key_another1'", "digest": "'\\x00'", "created_at": "now()"}
    assert "does not change" in refused_to_the_owner(f"UPDATE partners_apikey SET {column} = {values[column]}")
    with pytest.raises(ProgrammingError, match="permission denied"):
        ApiKey.objects.filter(pk=key.pk).update(**{column: getattr(key, column)})
