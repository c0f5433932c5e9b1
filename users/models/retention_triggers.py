"""The clock of a user's records, holds, and the function that erases a user: docs/operations.md, "Records".

SQL here names tables of the apps above: what is erased is all that belongs to a user, whichever app has it.
"""

from pathlib import Path
from typing import Any

import pgtrigger
from django.apps import apps
from django.utils.translation import gettext_lazy as _

from partners.db import endings
from partners.db.audit import entry_trigger, insert_entry, register
from partners.db.triggers import PermanentTrigger, append_only, json_object, refuse, stamped
from partners.events import outbox
from partners.models import EventType
from users.models.statuses import ENDED_STATUSES
from users.models.triggers import by_active_staff

# The law requires so many; RETENTION_YEARS may be more.
LEAST_YEARS = 5

_ENDED = ", ".join(f"'{status.value}'" for status in ENDED_STATUSES)
_NEWEST = "(SELECT created_at FROM {table} WHERE user_id = {user}.id ORDER BY created_at DESC LIMIT 1)"
# SQL of whether a user is held.
IS_HELD = """EXISTS (
    SELECT FROM users_hold hold WHERE hold.user_id = {user}.id
       AND NOT EXISTS (SELECT FROM users_holdrelease release WHERE release.hold_id = hold.id))"""


def due_at(user: str, years: str) -> str:
    """SQL of when the records of a user are due for erasure; null in the statuses in which they never are.

    user: the alias of users_user. years: SQL of a whole number. Calendar years, of UTC.
    """
    newest = [_NEWEST.format(table=table, user=user) for table in ("transactions_conversion", "transactions_document")]
    latest = f"greatest({user}.status_since, {', '.join(newest)})"
    return f"""CASE WHEN {user}.status IN ({_ENDED}) AND NOT {user}.is_sandbox
        THEN (({latest} AT TIME ZONE 'UTC') + make_interval(years => {years}::integer)) AT TIME ZONE 'UTC' END"""


_BY = "(SELECT username FROM users_staff WHERE id = NEW.by_id)"
_HELD = register("user.held", _("User held"))
_RELEASED = register("user.released", _("Hold released"))
_ERASED = register("user.erased", _("User erased"))

HOLD_TRIGGERS = [
    stamped("created_at"),
    by_active_staff("by_id"),
    PermanentTrigger(
        name="of_real_user",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        declare=[("present", "users_user%ROWTYPE")],
        func=f"""
            -- Waits for an erasure; then there is no such user.
            SELECT * INTO present FROM users_user WHERE id = NEW.user_id FOR NO KEY UPDATE;
            IF present.is_sandbox THEN
                {refuse("The records of sandbox users have no retention.")}
            END IF;
            RETURN NEW;
        """,
    ),
    entry_trigger(
        f"'{_HELD}'",
        object="NEW.user_id::text",
        detail=json_object({"hold": "NEW.id", "reason": "NEW.reason"}),
        actor=_BY,
        user="NEW.user_id",
    ),
]

RELEASE_TRIGGERS = [
    stamped("created_at"),
    by_active_staff("by_id"),
    PermanentTrigger(
        name="by_another",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        func=f"""
            IF NEW.by_id = (SELECT by_id FROM users_hold WHERE id = NEW.hold_id) THEN
                {refuse("Another person releases a hold than the one who placed it.")}
            END IF;
            RETURN NEW;
        """,
    ),
    entry_trigger(
        f"'{_RELEASED}'",
        object="(SELECT user_id::text FROM users_hold WHERE id = NEW.hold_id)",
        detail=json_object({"hold": "NEW.hold_id", "reason": "NEW.reason"}),
        actor=_BY,
        user="(SELECT user_id FROM users_hold WHERE id = NEW.hold_id)",
    ),
]


class _ErasesUser(PermanentTrigger):
    """Made from the register when a migration is made: the models of all apps are there only then."""

    def render_func(self, model: Any) -> str:
        template = (Path(__file__).parent.parent / "sql" / "erase.sql").read_text()
        root = apps.get_model("users", "User")
        return template.format(
            identifiers=" UNION ALL ".join(endings.identifiers(root)),
            deletions="\n".join(_deletion(one) for one in endings.deletions(root)),
            event=outbox.insert_entry(
                EventType.USER_ERASED,
                source="(SELECT erased.*) AS u",
                partner="u.partner_id",
                user="u.id",
                data={"externalId": "u.external_id", "userId": "u.id"},
            ),
            entry=insert_entry(
                f"'{_ERASED}'",
                object="NEW.user_id::text",
                detail=json_object(
                    {
                        "partner": "(SELECT slug FROM partners_partner WHERE id = NEW.partner_id)",
                        "dueAt": outbox.wire_time("NEW.due_at"),
                        "rows": "counts",
                    }
                ),
                actor=_BY,
            ),
        )


def _deletion(one: endings.Deletion) -> str:
    statements = "\n".join(
        f"DELETE FROM {one.table} WHERE {condition};\n"
        "GET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;"
        for condition in one.conditions
    )
    return f"""counted := 0;
{statements}
IF counted > 0 THEN counts := counts || jsonb_build_object('{one.table}', counted); END IF;"""


ERASURE_TRIGGERS = [
    by_active_staff("by_id"),
    PermanentTrigger(
        name="is_due",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        declare=[("erased", "users_user%ROWTYPE")],
        func=f"""
            -- Waits for those who write about the user, and keeps others waiting.
            SELECT * INTO erased FROM users_user WHERE id = NEW.user_id FOR UPDATE;
            IF NOT FOUND THEN
                {refuse("There is no such user.")}
            END IF;
            NEW.due_at := {due_at("erased", "NEW.years")};
            IF NEW.due_at IS NULL OR NEW.due_at > clock_timestamp() THEN
                {refuse("The records of this user are not due for erasure.")}
            END IF;
            IF {IS_HELD.format(user="erased")} THEN
                {refuse("The records of this user are held.")}
            END IF;
            NEW.partner_id := erased.partner_id;
            NEW.erased_at := clock_timestamp();
            NEW.rows := '{{}}';
            RETURN NEW;
        """,
    ),
    _ErasesUser(
        name="erases",
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        declare=[
            ("erased", "users_user%ROWTYPE"),
            ("ids", "text[]"),
            ("address", "text"),
            ("deleted", "bigint"),
            ("counted", "bigint"),
            ("counts", "jsonb"),
            ("named", "jsonb"),
        ],
    ),
    PermanentTrigger(
        name="counted_once",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        func=f"""
            IF OLD.rows <> '{{}}' OR pg_trigger_depth() < 2
                OR to_jsonb(OLD) - 'rows' IS DISTINCT FROM to_jsonb(NEW) - 'rows' THEN
                {refuse("What is left of a user does not change.")}
            END IF;
            RETURN NEW;
        """,
    ),
    *append_only(pgtrigger.Delete),
]
