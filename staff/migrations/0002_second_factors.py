import core.database.triggers
import django.db.models.deletion
import pghistory.utils
import pgtrigger.compiler
from django.conf import settings
from django.db import migrations, models

from core.database.triggers import AddTriggers

# Apart: allauth's own migrations need the accounts of the first.


class Migration(migrations.Migration):

    dependencies = [
        ('mfa', '0003_authenticator_type_uniq'),
        ('staff', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='SecondFactor',
            fields=[
            ],
            options={
                'proxy': True,
                'default_permissions': (),
                'indexes': [],
                'constraints': [],
            },
            bases=('mfa.authenticator',),
        ),
        migrations.CreateModel(
            name='SecondFactorEvent',
            fields=[
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('pgh_id', models.BigAutoField(primary_key=True, serialize=False)),
                ('pgh_obj', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='history', related_query_name='history', to='staff.secondfactor')),
                ('pgh_context', pghistory.utils.JSONField(null=True)),
                ('user', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL)),
                ('type', models.CharField(choices=[('recovery_codes', 'Recovery codes'), ('totp', 'TOTP Authenticator'), ('webauthn', 'WebAuthn')], max_length=20)),
            ],
            options={
                'abstract': False,
                'default_permissions': (),
                'indexes': [models.Index(fields=['pgh_obj', 'pgh_id'], name='secondfactorevent_of_row')],
                'constraints': [models.CheckConstraint(condition=models.Q(('pgh_context__isnull', True), models.Func('pgh_context', output_field=models.BooleanField(), template='coalesce(jsonb_path_match(%(expressions)s, \'$.type() == "object" && !exists($.keyvalue() ? (@.value.type() != "string"))\', silent => true), false)'), _connector='OR'), name='secondfactorevent_context_readable')],
            },
        ),
        AddTriggers(
            model_name='secondfactor',
            triggers=[pgtrigger.compiler.Trigger(name='insert_insert', sql=core.database.triggers.PermanentTriggerSql(func='INSERT INTO "staff_secondfactorevent" ("pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "type", "user_id") VALUES (COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'insert\', NEW."id", NEW."type", NEW."user_id"); RETURN NULL;', hash='debd50be225e08f48eda723003fb6e33e8b8f47d', operation='INSERT', pgid='pgtrigger_insert_insert_4f3ed', table='mfa_authenticator', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (OLD."type" IS DISTINCT FROM (NEW."type") OR OLD."user_id" IS DISTINCT FROM (NEW."user_id"))', func='INSERT INTO "staff_secondfactorevent" ("pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "type", "user_id") VALUES (COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'update\', NEW."id", NEW."type", NEW."user_id"); RETURN NULL;', hash='7612fd41f12355e53a2b09a028607df91a656539', operation='UPDATE', pgid='pgtrigger_update_update_9723b', table='mfa_authenticator', when='AFTER')), pgtrigger.compiler.Trigger(name='delete_delete', sql=core.database.triggers.PermanentTriggerSql(func='INSERT INTO "staff_secondfactorevent" ("pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "type", "user_id") VALUES (COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'delete\', OLD."id", OLD."type", OLD."user_id"); RETURN NULL;', hash='955c60fdcf645aa2dac9f8226331465b6aaea496', operation='DELETE', pgid='pgtrigger_delete_delete_064c0', table='mfa_authenticator', when='AFTER'))],
        ),
        AddTriggers(
            model_name='secondfactorevent',
            triggers=[pgtrigger.compiler.Trigger(name='no_update', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='aa7f1ed73b3636d42a376059da0682d86fcd7ed9', operation='UPDATE', pgid='pgtrigger_no_update_81239', table='staff_secondfactorevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND is_erasing() THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='87af40999b95ae81b4e4f72a96bff6f45a287b62', operation='DELETE', pgid='pgtrigger_no_delete_d93d9', table='staff_secondfactorevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='3b9f8f8660e844ec490ac477520cced9e5b3c3e7', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_03e22', table='staff_secondfactorevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='audit', sql=core.database.triggers.PermanentTriggerSql(declare='DECLARE before jsonb; after jsonb;', func='\n            IF NEW.pgh_label = \'delete\' THEN\n                before := to_jsonb(NEW);\n            ELSE\n                after := to_jsonb(NEW);\n                SELECT to_jsonb(earlier) INTO before FROM staff_secondfactorevent AS earlier\n                 WHERE pgh_obj_id = NEW.pgh_obj_id AND pgh_id < NEW.pgh_id ORDER BY pgh_id DESC LIMIT 1;\n            END IF;\n            \n        INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> \'staff\', context ->> \'by\', context ->> \'operator\', context ->> \'partner\', \'\'), CASE WHEN context ? \'staff\' THEN \'staff\' WHEN context ? \'by\' THEN \'staff\' WHEN context ? \'operator\' THEN \'operator\' WHEN context ? \'partner\' THEN \'partner\' ELSE \'\' END, \'secondFactor.\' || CASE NEW.pgh_label WHEN \'insert\' THEN \'created\' WHEN \'update\' THEN \'changed\' ELSE \'removed\' END, (SELECT username FROM staff_staff WHERE id = NEW.user_id),\n               jsonb_strip_nulls(jsonb_build_object(\'operator\', context ->> \'operator\', \'command\', context ->> \'command\', \'key\', context ->> \'key\', \'requestId\', context ->> \'requestId\', \'source\', context ->> \'source\', \'reason\', context ->> \'reason\') || jsonb_build_object(\'type\', NEW.type, \'changes\', (SELECT jsonb_object_agg(name, jsonb_build_array(coalesce(nullif(before -> name, \'""\'), \'null\'), coalesce(nullif(after -> name, \'""\'), \'null\'))) FROM unnest(ARRAY[]::text[]) AS name\n                    WHERE coalesce(nullif(before -> name, \'""\'), \'null\') IS DISTINCT FROM coalesce(nullif(after -> name, \'""\'), \'null\'))))\n          FROM (SELECT coalesce(NEW.pgh_context, \'{}\') || jsonb_strip_nulls(jsonb_build_object(\'staff\', NULL::text))\n                    AS context) AS given\n         WHERE true\n    ;\n         RETURN NULL;', hash='c585ba13f8b15922b1d9c88b67c9ca31f7ad7412', operation='INSERT', pgid='pgtrigger_audit_217a4', table='staff_secondfactorevent', when='AFTER'))],
        ),
    ]
