from pathlib import Path

import partners.db.triggers
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


# In the order of their calls.
FUNCTIONS = {
    "users_meets": "uuid, text",
    "users_takes_two": "uuid, text",
    "users_may_decide": "bigint",
    "users_ties": "bigint, bigint",
}
SQL = Path(__file__).parents[1] / "sql"


class Migration(migrations.Migration):

    dependencies = [
        ('partners', '0008_records_end_indexes'),
        ('users', '0011_one_trail'),
    ]

    operations = [
        *(
            migrations.RunSQL(
                [(SQL / f"{name}.sql").read_text(), f"REVOKE ALL ON FUNCTION {name}({arguments}) FROM PUBLIC"],
                f"DROP FUNCTION {name}({arguments})",
            )
            for name, arguments in FUNCTIONS.items()
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='approvalrule',
            name='audit',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='proposal',
            name='of_present',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='proposal',
            name='ends_once',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='statuschange',
            name='two_people',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='statuschange',
            name='audit',
        ),
        migrations.RemoveConstraint(
            model_name='proposal',
            name='proposal_ended_by_somebody',
        ),
        migrations.AddField(
            model_name='proposal',
            name='data',
            field=models.JSONField(editable=False, null=True, verbose_name='data'),
        ),
        migrations.AddField(
            model_name='proposal',
            name='open_seconds',
            field=models.IntegerField(editable=False, null=True, verbose_name='seconds open'),
        ),
        migrations.AddField(
            model_name='proposal',
            name='was_shown',
            field=models.BooleanField(db_default=False, editable=False, verbose_name='shown'),
        ),
        migrations.AddField(
            model_name='statuschange',
            name='common_maker',
            field=models.TextField(blank=True, db_default='', editable=False, verbose_name='maker of both accounts'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='approvalrule',
            trigger=pgtrigger.compiler.Trigger(name='audit', sql=partners.db.triggers.PermanentTriggerSql(func="\n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> 'staff', context ->> 'by', context ->> 'operator', context ->> 'partner', ''), CASE WHEN context ? 'staff' THEN 'staff' WHEN context ? 'by' THEN 'staff' WHEN context ? 'operator' THEN 'operator' WHEN context ? 'partner' THEN 'partner' ELSE '' END, 'approvalRule.set', NEW.from_status || ' → ' || NEW.to_status,\n               jsonb_strip_nulls(jsonb_build_object('operator', context ->> 'operator', 'command', context ->> 'command', 'key', context ->> 'key', 'requestId', context ->> 'requestId', 'source', context ->> 'source', 'reason', context ->> 'reason') || jsonb_build_object('changes', jsonb_build_object('condition', jsonb_build_array((\n                    SELECT string_agg(rule.condition, ', ' ORDER BY rule.id) FROM users_approvalrule rule\n                     WHERE rule.from_status = NEW.from_status AND rule.to_status = NEW.to_status AND rule.created_at = (\n                        SELECT rule.created_at FROM users_approvalrule rule\n                         WHERE rule.from_status = NEW.from_status AND rule.to_status = NEW.to_status AND rule.created_at <> NEW.created_at ORDER BY rule.id DESC LIMIT 1)), (\n                    SELECT string_agg(rule.condition, ', ' ORDER BY rule.id) FROM users_approvalrule rule\n                     WHERE rule.from_status = NEW.from_status AND rule.to_status = NEW.to_status AND rule.created_at = NEW.created_at)))))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}'), '{}') || jsonb_strip_nulls(jsonb_build_object('staff', NULL::text))\n                    AS context) AS given\n         WHERE NEW.id = (SELECT max(id) FROM users_approvalrule rule\n                            WHERE rule.from_status = NEW.from_status AND rule.to_status = NEW.to_status AND rule.created_at = NEW.created_at)\n    ; RETURN NULL;", hash='6e210974e01a74751af98eb8f63c04b4d236c31f', operation='INSERT', pgid='pgtrigger_audit_67b88', table='users_approvalrule', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='proposal',
            trigger=pgtrigger.compiler.Trigger(name='of_present', sql=partners.db.triggers.PermanentTriggerSql(declare='DECLARE present users_user%ROWTYPE;', func="\n            SELECT * INTO present FROM users_user WHERE id = NEW.user_id FOR NO KEY UPDATE;\n            NEW.from_status := present.status;\n            NEW.user_updated_at := present.updated_at;\n            NEW.created_at := clock_timestamp();\n            IF NEW.state <> 'open' OR NEW.ended_by_id IS NOT NULL OR NEW.ended_at IS NOT NULL OR NEW.note <> '' THEN\n                RAISE EXCEPTION 'A proposal begins open.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            IF NOT users_takes_two(NEW.user_id, NEW.to_status) THEN\n                RAISE EXCEPTION 'This move takes one person: there is no rule for it.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            IF NOT users_may_decide(NEW.by_id) THEN\n                RAISE EXCEPTION 'An active account that may decide proposes.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            NEW.open_seconds := (\n                SELECT extract(epoch FROM NEW.created_at - a.created_at) FROM users_accessrecord a\n                 WHERE a.user_id = NEW.user_id AND a.staff_id = NEW.by_id AND a.kind = 'opened'\n                   AND a.detail IN ('', 'User page.') AND a.created_at BETWEEN present.status_since AND NEW.created_at\n                 ORDER BY a.id DESC LIMIT 1);\n            RETURN NEW;\n        ", hash='5d1796725121af40d90eb328e2a956687781cd30', operation='INSERT', pgid='pgtrigger_of_present_ee2c3', table='users_proposal', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='proposal',
            trigger=pgtrigger.compiler.Trigger(name='ends_once', sql=partners.db.triggers.PermanentTriggerSql(declare='DECLARE present users_user%ROWTYPE;', func="\n            IF OLD.state <> 'open' OR NEW.state = 'open' OR ROW(OLD.id, OLD.user_id, OLD.from_status, OLD.to_status, OLD.user_updated_at, OLD.by_id, OLD.reason, OLD.reason_code, OLD.created_at, OLD.data, OLD.was_shown, OLD.open_seconds) IS DISTINCT FROM ROW(NEW.id, NEW.user_id, NEW.from_status, NEW.to_status, NEW.user_updated_at, NEW.by_id, NEW.reason, NEW.reason_code, NEW.created_at, NEW.data, NEW.was_shown, NEW.open_seconds) THEN\n                RAISE EXCEPTION 'A proposal ends once, and nothing else of it changes.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            SELECT * INTO present FROM users_user WHERE id = NEW.user_id;\n            NEW.ended_at := clock_timestamp();\n            IF NEW.state = 'approved' THEN\n                IF NOT EXISTS (\n                    SELECT FROM users_statuschange d WHERE d.proposal_id = NEW.id AND d.by_id = NEW.ended_by_id) THEN\n                    RAISE EXCEPTION 'A proposal is approved by a decision that names it.' USING ERRCODE = 'integrity_constraint_violation';\n                END IF;\n            ELSIF NEW.state = 'expired' THEN\n                -- A minute is for the clocks of other machines.\n                IF OLD.created_at > clock_timestamp() - interval '72 hours' + interval '1 minute'\n                    OR NEW.ended_by_id IS NOT NULL THEN\n                    RAISE EXCEPTION 'This proposal has not expired.' USING ERRCODE = 'integrity_constraint_violation';\n                END IF;\n                NEW.ended_at := OLD.created_at + interval '72 hours';\n            ELSIF NEW.state = 'overtaken' THEN\n                IF present.updated_at = OLD.user_updated_at OR NEW.ended_by_id IS NOT NULL THEN\n                    RAISE EXCEPTION 'The user has not changed since this proposal.' USING ERRCODE = 'integrity_constraint_violation';\n                END IF;\n                NEW.ended_at := (\n                    SELECT min(event.updated_at) FROM users_userevent event\n                     WHERE event.pgh_obj_id = NEW.user_id AND event.updated_at > OLD.user_updated_at);\n            ELSIF NEW.note !~ '\\S' OR NOT users_may_decide(NEW.ended_by_id)\n                -- Who disables the account of the proposer may be an administrator, or an operator.\n                AND (SELECT is_active FROM users_staff WHERE id = NEW.by_id) THEN\n                RAISE EXCEPTION 'Somebody who may decide declines a proposal, with a note.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='ef1db720b621c9f35d13480b399486178a2511bb', operation='UPDATE', pgid='pgtrigger_ends_once_9df08', table='users_proposal', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='statuschange',
            trigger=pgtrigger.compiler.Trigger(name='audit', sql=partners.db.triggers.PermanentTriggerSql(func="\n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> 'staff', context ->> 'by', context ->> 'operator', context ->> 'partner', ''), CASE WHEN context ? 'staff' THEN 'staff' WHEN context ? 'by' THEN 'staff' WHEN context ? 'operator' THEN 'operator' WHEN context ? 'partner' THEN 'partner' ELSE '' END, 'user.decided', NEW.user_id::text,\n               jsonb_strip_nulls(jsonb_build_object('operator', context ->> 'operator', 'command', context ->> 'command', 'key', context ->> 'key', 'requestId', context ->> 'requestId', 'source', context ->> 'source', 'reason', context ->> 'reason') || jsonb_build_object('changes', jsonb_build_object('status', jsonb_build_array(NEW.from_status, NEW.to_status)), 'reason', NEW.reason, 'reasonCode', nullif(NEW.reason_code, ''), 'commonMaker', nullif(NEW.common_maker, '')) || coalesce((\n    SELECT jsonb_build_object('partner', p.slug, 'externalId', u.external_id)\n      FROM users_user u JOIN partners_partner p ON p.id = u.partner_id WHERE u.id = NEW.user_id), '{}'))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}'), '{}') || jsonb_strip_nulls(jsonb_build_object('staff', (SELECT username FROM users_staff WHERE id = NEW.by_id)))\n                    AS context) AS given\n         WHERE context ->> 'staff' <> 'sandbox'\n    ; RETURN NULL;", hash='d3eb09cd6b3410ad659259a319b14fc181ebfc35', operation='INSERT', pgid='pgtrigger_audit_3eed8', table='users_statuschange', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='statuschange',
            trigger=pgtrigger.compiler.Trigger(name='two_people', sql=partners.db.triggers.PermanentTriggerSql(declare='DECLARE present users_user%ROWTYPE; proposal users_proposal%ROWTYPE; ties record;', func="\n            NEW.common_maker := '';\n            SELECT * INTO present FROM users_user WHERE id = NEW.user_id;\n            IF NOT users_takes_two(NEW.user_id, NEW.to_status) THEN\n                IF NEW.proposal_id IS NOT NULL THEN\n                    RAISE EXCEPTION 'This move takes one person: there is no rule for it.' USING ERRCODE = 'integrity_constraint_violation';\n                END IF;\n                RETURN NEW;\n            END IF;\n            SELECT * INTO proposal FROM users_proposal WHERE id = NEW.proposal_id FOR UPDATE;\n            IF NOT FOUND OR proposal.user_id <> NEW.user_id OR proposal.from_status <> NEW.from_status\n                OR proposal.to_status <> NEW.to_status OR proposal.state <> 'open'\n                OR proposal.created_at <= clock_timestamp() - interval '72 hours'\n                OR proposal.user_updated_at <> present.updated_at THEN\n                RAISE EXCEPTION 'This move takes two people: an open proposal of this very move, on the user as it is.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            IF proposal.by_id = NEW.by_id\n                OR NOT (users_may_decide(NEW.by_id) AND users_may_decide(proposal.by_id)) THEN\n                RAISE EXCEPTION 'This move takes two people, each with an active account that may decide.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            SELECT * INTO ties FROM users_ties(NEW.by_id, proposal.by_id);\n            IF ties.related THEN\n                RAISE EXCEPTION 'This move takes two people: within 30 days neither made, re-roled or reset the other.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            IF (NEW.reason, NEW.reason_code) IS DISTINCT FROM (proposal.reason, proposal.reason_code) THEN\n                RAISE EXCEPTION 'This move takes two people, and has the reason of the proposal.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            NEW.common_maker := ties.makers;\n            RETURN NEW;\n        ", hash='250c580d449125bc2d5be600548b6f40eaead52a', operation='INSERT', pgid='pgtrigger_two_people_33b47', table='users_statuschange', when='BEFORE')),
        ),
    ]
