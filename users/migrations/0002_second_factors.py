import core.database.triggers
import django.db.models.deletion
import django.utils.timezone
import pghistory.utils
import pgtrigger.compiler
from django.conf import settings
from django.db import migrations, models

from core.database.operations import AddTriggers

# Apart: allauth's own migrations need the accounts of the first.


class Migration(migrations.Migration):

    dependencies = [
        ('mfa', '0003_authenticator_type_uniq'),
        ('users', '0001_initial'),
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
                ('pgh_obj', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='history', related_query_name='history', to='users.secondfactor')),
                ('pgh_context', pghistory.utils.JSONField(null=True)),
                ('user', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL)),
                ('type', models.CharField(choices=[('recovery_codes', 'Recovery codes'), ('totp', 'TOTP Authenticator'), ('webauthn', 'WebAuthn')], max_length=20)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
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
            triggers=[pgtrigger.compiler.Trigger(name='insert_insert', sql=core.database.triggers.PermanentTriggerSql(func='INSERT INTO "users_secondfactorevent" ("created_at", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "type", "user_id") VALUES (NEW."created_at", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'insert\', NEW."id", NEW."type", NEW."user_id"); RETURN NULL;', hash='10c4810ef6527cd588493809593b1da66c679c48', operation='INSERT', pgid='pgtrigger_insert_insert_ab01b', table='mfa_authenticator', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."type" IS DISTINCT FROM (NEW."type") OR OLD."user_id" IS DISTINCT FROM (NEW."user_id"))', func='INSERT INTO "users_secondfactorevent" ("created_at", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "type", "user_id") VALUES (NEW."created_at", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'update\', NEW."id", NEW."type", NEW."user_id"); RETURN NULL;', hash='7d50e0f310a9803cd944846a0592cbf7b28e208f', operation='UPDATE', pgid='pgtrigger_update_update_3b3c7', table='mfa_authenticator', when='AFTER')), pgtrigger.compiler.Trigger(name='delete_delete', sql=core.database.triggers.PermanentTriggerSql(func='INSERT INTO "users_secondfactorevent" ("created_at", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "type", "user_id") VALUES (OLD."created_at", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'delete\', OLD."id", OLD."type", OLD."user_id"); RETURN NULL;', hash='5ea85d8993b13c6661d08c9622e59557867c62d4', operation='DELETE', pgid='pgtrigger_delete_delete_762b0', table='mfa_authenticator', when='AFTER'))],
        ),
        AddTriggers(
            model_name='secondfactorevent',
            triggers=[pgtrigger.compiler.Trigger(name='no_update', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='5f9c862944513ef7455a0a8a596c6a56eec11d53', operation='UPDATE', pgid='pgtrigger_no_update_952c2', table='users_secondfactorevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='ddd42870e884d980bdd3e3864c2f717854439e53', operation='DELETE', pgid='pgtrigger_no_delete_64a09', table='users_secondfactorevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='b056847082c0da18e8bc68a7171784e6a0c50ca1', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_695a5', table='users_secondfactorevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='audit', sql=core.database.triggers.PermanentTriggerSql(declare='DECLARE before jsonb; after jsonb;', func='\n            IF NEW.pgh_label = \'delete\' THEN\n                before := to_jsonb(NEW);\n            ELSE\n                after := to_jsonb(NEW);\n                SELECT to_jsonb(earlier) INTO before FROM users_secondfactorevent AS earlier\n                 WHERE pgh_obj_id = NEW.pgh_obj_id AND pgh_id < NEW.pgh_id ORDER BY pgh_id DESC LIMIT 1;\n            END IF;\n            \n        INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> \'staff\', context ->> \'by\', context ->> \'operator\', context ->> \'partner\', \'\'), CASE WHEN context ? \'staff\' THEN \'staff\' WHEN context ? \'by\' THEN \'staff\' WHEN context ? \'operator\' THEN \'operator\' WHEN context ? \'partner\' THEN \'partner\' ELSE \'\' END, \'secondFactor.\' || CASE NEW.pgh_label WHEN \'insert\' THEN \'created\' WHEN \'update\' THEN \'changed\' ELSE \'removed\' END, (SELECT username FROM users_staff WHERE id = NEW.user_id),\n               jsonb_strip_nulls(jsonb_build_object(\'operator\', context ->> \'operator\', \'command\', context ->> \'command\', \'key\', context ->> \'key\', \'requestId\', context ->> \'requestId\', \'source\', context ->> \'source\', \'reason\', context ->> \'reason\') || jsonb_build_object(\'type\', NEW.type, \'changes\', (SELECT jsonb_object_agg(name, jsonb_build_array(coalesce(nullif(before -> name, \'""\'), \'null\'), coalesce(nullif(after -> name, \'""\'), \'null\'))) FROM unnest(ARRAY[]::text[]) AS name\n                    WHERE coalesce(nullif(before -> name, \'""\'), \'null\') IS DISTINCT FROM coalesce(nullif(after -> name, \'""\'), \'null\'))))\n          FROM (SELECT coalesce(NEW.pgh_context, \'{}\') || jsonb_strip_nulls(jsonb_build_object(\'staff\', NULL::text))\n                    AS context) AS given\n         WHERE true\n    ;\n            RETURN NULL;\n        ', hash='750303def20987fa27838d998a1ceae6c0d3170f', operation='INSERT', pgid='pgtrigger_audit_0fa87', table='users_secondfactorevent', when='AFTER'))],
        ),
    ]
