import core.database.triggers
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.datetime
import partners.models
import pghistory.utils
import pgtrigger.compiler
from django.db import migrations, models

from core.database.triggers import AddTriggers, set_storage

STORAGE = {
    # Purged by the day.
    "partners_idempotencyrecord": {"autovacuum_vacuum_scale_factor": 0.05},
    "partners_usedsignature": {"autovacuum_vacuum_scale_factor": 0.05},
    # A column without an index, again and again.
    "partners_apikey": {"fillfactor": 50},
}


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('core', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Partner',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.CharField(help_text='How commands, imports and GET /v1/ping name the partner.', max_length=50, unique=True, validators=[django.core.validators.RegexValidator('\\A[a-z0-9]+(-[a-z0-9]+)*\\Z', 'Lower-case letters and digits, in groups joined by single hyphens.')], verbose_name='slug')),
                ('name', models.CharField(max_length=200, validators=[partners.models.validate_one_line], verbose_name='name')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('sandbox', 'Sandbox')], db_default='live', default='live', help_text='A sandbox partner tests its integration, with users that are not real. It never changes.', max_length=10, verbose_name='mode')),
                ('enabled', models.BooleanField(default=True, help_text='A disabled partner is refused from its next request on.', verbose_name='enabled')),
                ('rate_limit', models.CharField(blank=True, help_text="Such as 600/minute; empty for the service's default.", max_length=40, validators=[partners.models.validate_rate], verbose_name='rate limit')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'partner',
                'verbose_name_plural': 'partners',
                'ordering': ('slug',),
                'constraints': [models.CheckConstraint(condition=models.Q(('mode__in', ['live', 'sandbox'])), name='partner_mode_known')],
            },
        ),
        migrations.CreateModel(
            name='PartnerEvent',
            fields=[
                ('pgh_id', models.BigAutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='history', related_query_name='history', to='partners.partner')),
                ('pgh_context', pghistory.utils.JSONField(null=True)),
                ('slug', models.CharField(help_text='How commands, imports and GET /v1/ping name the partner.', max_length=50, validators=[django.core.validators.RegexValidator('\\A[a-z0-9]+(-[a-z0-9]+)*\\Z', 'Lower-case letters and digits, in groups joined by single hyphens.')], verbose_name='slug')),
                ('name', models.CharField(max_length=200, validators=[partners.models.validate_one_line], verbose_name='name')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('sandbox', 'Sandbox')], db_default='live', default='live', help_text='A sandbox partner tests its integration, with users that are not real. It never changes.', max_length=10, verbose_name='mode')),
                ('enabled', models.BooleanField(default=True, help_text='A disabled partner is refused from its next request on.', verbose_name='enabled')),
                ('rate_limit', models.CharField(blank=True, help_text="Such as 600/minute; empty for the service's default.", max_length=40, validators=[partners.models.validate_rate], verbose_name='rate limit')),
            ],
            options={
                'abstract': False,
                'default_permissions': (),
                'indexes': [models.Index(fields=['pgh_obj', 'pgh_id'], name='partnerevent_of_row')],
                'constraints': [models.CheckConstraint(condition=models.Q(('pgh_context__isnull', True), models.Func('pgh_context', output_field=models.BooleanField(), template='coalesce(jsonb_path_match(%(expressions)s, \'$.type() == "object" && !exists($.keyvalue() ? (@.value.type() != "string"))\', silent => true), false)'), _connector='OR'), name='partnerevent_context_readable')],
            },
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('partner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='api_keys', to='partners.partner', verbose_name='partner')),
                ('prefix', models.CharField(editable=False, max_length=25, unique=True, verbose_name='prefix')),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('encrypted_secret', models.TextField(editable=False)),
                ('label', models.CharField(blank=True, max_length=100, validators=[partners.models.validate_one_line], verbose_name='label')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires at')),
                ('revoked_at', models.DateTimeField(editable=False, null=True, verbose_name='revoked at')),
                ('last_used_at', models.DateTimeField(editable=False, null=True, verbose_name='last used at')),
            ],
            options={
                'verbose_name': 'API key',
                'verbose_name_plural': 'API keys',
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(django.db.models.functions.comparison.Least('revoked_at', 'expires_at'), name='api_key_ended')],
            },
        ),
        migrations.CreateModel(
            name='ApiKeyEvent',
            fields=[
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('pgh_id', models.BigAutoField(primary_key=True, serialize=False)),
                ('pgh_obj', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='history', related_query_name='history', to='partners.apikey')),
                ('pgh_context', pghistory.utils.JSONField(null=True)),
                ('partner', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='partners.partner', verbose_name='partner')),
                ('prefix', models.CharField(editable=False, max_length=25, verbose_name='prefix')),
                ('label', models.CharField(blank=True, max_length=100, validators=[partners.models.validate_one_line], verbose_name='label')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires at')),
                ('revoked_at', models.DateTimeField(editable=False, null=True, verbose_name='revoked at')),
            ],
            options={
                'abstract': False,
                'default_permissions': (),
                'indexes': [models.Index(fields=['pgh_obj', 'pgh_id'], name='apikeyevent_of_row')],
                'constraints': [models.CheckConstraint(condition=models.Q(('pgh_context__isnull', True), models.Func('pgh_context', output_field=models.BooleanField(), template='coalesce(jsonb_path_match(%(expressions)s, \'$.type() == "object" && !exists($.keyvalue() ? (@.value.type() != "string"))\', silent => true), false)'), _connector='OR'), name='apikeyevent_context_readable')],
            },
        ),
        migrations.CreateModel(
            name='IdempotencyRecord',
            fields=[
                ('pk', models.CompositePrimaryKey('partner_id', 'key', blank=True, editable=False, primary_key=True, serialize=False)),
                ('partner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='partners.partner')),
                ('key', models.UUIDField()),
                ('fingerprint', models.BinaryField(max_length=32)),
                ('method', models.CharField(max_length=10)),
                ('path', models.TextField()),
                ('status', models.PositiveSmallIntegerField()),
                ('body', models.BinaryField()),
                ('location', models.TextField(null=True)),
                ('completed_at', models.DateTimeField(db_default=models.Func(function='clock_timestamp'))),
            ],
            options={
                'indexes': [models.Index(fields=['completed_at'], name='idempotency_completed_at')],
            },
        ),
        migrations.CreateModel(
            name='UsedSignature',
            fields=[
                ('pk', models.CompositePrimaryKey('partner_id', 'signature', blank=True, editable=False, primary_key=True, serialize=False)),
                ('partner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='partners.partner')),
                ('signature', models.BinaryField(max_length=32)),
                ('signed_at', models.DateTimeField(help_text="The request's own timestamp.")),
                ('path', models.TextField(db_default='')),
            ],
            options={
                'indexes': [models.Index(fields=['signed_at'], name='used_signature_signed_at')],
            },
        ),
        migrations.CreateModel(
            name='SandboxRequest',
            fields=[
                ('pk', models.CompositePrimaryKey('partner_id', 'request_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('partner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='sandbox_requests', to='partners.partner')),
                ('request_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField()),
                ('method', models.CharField(max_length=10)),
                ('path', models.TextField()),
                ('query', models.TextField()),
                ('status', models.PositiveSmallIntegerField()),
                ('error', models.TextField(null=True)),
                ('field_errors', models.JSONField()),
                ('idempotency_key', models.TextField(null=True)),
                ('replayed', models.BooleanField()),
                ('milliseconds', models.PositiveIntegerField()),
                ('diagnosis', models.JSONField(null=True)),
            ],
            options={
                'verbose_name': 'sandbox request',
                'verbose_name_plural': 'sandbox requests',
                'indexes': [models.Index(fields=['partner', '-created_at', '-request_id'], name='sandbox_request_newest'), models.Index(fields=['created_at'], name='sandbox_request_created_at')],
                'constraints': [models.CheckConstraint(condition=models.Q(('field_errors__isnull', True), models.Func('field_errors', output_field=models.BooleanField(), template='coalesce(jsonb_path_match(%(expressions)s, \'$.type() == "array" && !exists($[*].type() ? (@ != "object")) && !exists($[*] ? (!( @.field.type() == "string" && @.message.type() == "string" && @.code.type() == "string"))) && !exists($.**{8 to last}) && !exists($.** ? (@.type() == "number" && (@ > 1e12 || @ < -1e12)))\', silent => true), false)'), _connector='OR'), name='sandbox_request_field_errors_readable'), models.CheckConstraint(condition=models.Q(('diagnosis__isnull', True), models.Func('diagnosis', output_field=models.BooleanField(), template='coalesce(jsonb_path_match(%(expressions)s, \'$.type() == "object" && $.cause.type() == "string" && $.message.type() == "string" && $.canonicalRequest.type() == "string" && !exists($.**{8 to last}) && !exists($.** ? (@.type() == "number" && (@ > 1e12 || @ < -1e12)))\', silent => true), false)'), _connector='OR'), name='sandbox_request_diagnosis_readable')],
            },
        ),
        AddTriggers(
            model_name='partner',
            triggers=[pgtrigger.compiler.Trigger(name='insert_insert', sql=core.database.triggers.PermanentTriggerSql(func='INSERT INTO "partners_partnerevent" ("enabled", "mode", "name", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "rate_limit", "slug") VALUES (NEW."enabled", NEW."mode", NEW."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'insert\', NEW."id", NEW."rate_limit", NEW."slug"); RETURN NULL;', hash='5ee18c45a47b5de5667263412f9d8d3dc5b2154d', operation='INSERT', pgid='pgtrigger_insert_insert_71860', table='partners_partner', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (OLD."enabled" IS DISTINCT FROM (NEW."enabled") OR OLD."mode" IS DISTINCT FROM (NEW."mode") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."rate_limit" IS DISTINCT FROM (NEW."rate_limit") OR OLD."slug" IS DISTINCT FROM (NEW."slug"))', func='INSERT INTO "partners_partnerevent" ("enabled", "mode", "name", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "rate_limit", "slug") VALUES (NEW."enabled", NEW."mode", NEW."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'update\', NEW."id", NEW."rate_limit", NEW."slug"); RETURN NULL;', hash='c79dc46533c29f35d2dfa57f46a6935d9859ca4c', operation='UPDATE', pgid='pgtrigger_update_update_17ece', table='partners_partner', when='AFTER')), pgtrigger.compiler.Trigger(name='mode_stays', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (OLD.mode IS DISTINCT FROM NEW.mode)', func="RAISE EXCEPTION 'The mode of a partner does not change.' USING ERRCODE = 'integrity_constraint_violation'; RETURN NEW;", hash='f519c37bf00d107c67c0ab48a5515456a0fe4bb5', operation='UPDATE', pgid='pgtrigger_mode_stays_4d55d', table='partners_partner', when='BEFORE'))],
        ),
        AddTriggers(
            model_name='partnerevent',
            triggers=[pgtrigger.compiler.Trigger(name='no_update', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='c7e135cbc41c0f556f9ff6b49408cdac9042da23', operation='UPDATE', pgid='pgtrigger_no_update_c5b37', table='partners_partnerevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND is_erasing() THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='3d8a725f0c5b7619f5ff472589692942639436a0', operation='DELETE', pgid='pgtrigger_no_delete_868eb', table='partners_partnerevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='040be459e089f189944a3e190d49b22286b19e9b', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_d92fd', table='partners_partnerevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='audit', sql=core.database.triggers.PermanentTriggerSql(declare='DECLARE before jsonb; after jsonb;', func='\n            IF NEW.pgh_label = \'delete\' THEN\n                before := to_jsonb(NEW);\n            ELSE\n                after := to_jsonb(NEW);\n                SELECT to_jsonb(earlier) INTO before FROM partners_partnerevent AS earlier\n                 WHERE pgh_obj_id = NEW.pgh_obj_id AND pgh_id < NEW.pgh_id ORDER BY pgh_id DESC LIMIT 1;\n            END IF;\n            \n        INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> \'staff\', context ->> \'by\', context ->> \'operator\', context ->> \'partner\', \'\'), CASE WHEN context ? \'staff\' THEN \'staff\' WHEN context ? \'by\' THEN \'staff\' WHEN context ? \'operator\' THEN \'operator\' WHEN context ? \'partner\' THEN \'partner\' ELSE \'\' END, \'partner.\' || CASE NEW.pgh_label WHEN \'insert\' THEN \'created\' WHEN \'update\' THEN \'changed\' ELSE \'removed\' END, NEW.slug,\n               jsonb_strip_nulls(jsonb_build_object(\'operator\', context ->> \'operator\', \'command\', context ->> \'command\', \'key\', context ->> \'key\', \'requestId\', context ->> \'requestId\', \'source\', context ->> \'source\', \'reason\', context ->> \'reason\') || jsonb_build_object(\'changes\', (SELECT jsonb_object_agg(name, jsonb_build_array(coalesce(nullif(before -> name, \'""\'), \'null\'), coalesce(nullif(after -> name, \'""\'), \'null\'))) FROM unnest(ARRAY[\'name\', \'mode\', \'enabled\', \'rate_limit\']::text[]) AS name\n                    WHERE coalesce(nullif(before -> name, \'""\'), \'null\') IS DISTINCT FROM coalesce(nullif(after -> name, \'""\'), \'null\'))))\n          FROM (SELECT coalesce(NEW.pgh_context, \'{}\') || jsonb_strip_nulls(jsonb_build_object(\'staff\', NULL::text))\n                    AS context) AS given\n         WHERE true\n    ;\n         RETURN NULL;', hash='8141f35dfaa566bec1cce0beaa1db430d23bdcb3', operation='INSERT', pgid='pgtrigger_audit_0eefb', table='partners_partnerevent', when='AFTER'))],
        ),
        AddTriggers(
            model_name='apikey',
            triggers=[pgtrigger.compiler.Trigger(name='history_goes', sql=core.database.triggers.PermanentTriggerSql(func='DELETE FROM partners_apikeyevent WHERE pgh_obj_id = OLD.id; RETURN NULL;', hash='35ad1e8613e2a9b31e7a56335bcf2ef62a15a697', operation='DELETE', pgid='pgtrigger_history_goes_7aa57', table='partners_apikey', when='AFTER')), pgtrigger.compiler.Trigger(name='insert_insert', sql=core.database.triggers.PermanentTriggerSql(func='INSERT INTO "partners_apikeyevent" ("expires_at", "label", "partner_id", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "prefix", "revoked_at") VALUES (NEW."expires_at", NEW."label", NEW."partner_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'insert\', NEW."id", NEW."prefix", NEW."revoked_at"); RETURN NULL;', hash='b556e6706a74ca95ed5cadd8737f8460b4c17f56', operation='INSERT', pgid='pgtrigger_insert_insert_5235f', table='partners_apikey', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (OLD."expires_at" IS DISTINCT FROM (NEW."expires_at") OR OLD."label" IS DISTINCT FROM (NEW."label") OR OLD."partner_id" IS DISTINCT FROM (NEW."partner_id") OR OLD."prefix" IS DISTINCT FROM (NEW."prefix") OR OLD."revoked_at" IS DISTINCT FROM (NEW."revoked_at"))', func='INSERT INTO "partners_apikeyevent" ("expires_at", "label", "partner_id", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "prefix", "revoked_at") VALUES (NEW."expires_at", NEW."label", NEW."partner_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'update\', NEW."id", NEW."prefix", NEW."revoked_at"); RETURN NULL;', hash='2145616bb3f4f62c9e18597d06050ad0226e036d', operation='UPDATE', pgid='pgtrigger_update_update_33ba9', table='partners_apikey', when='AFTER')), pgtrigger.compiler.Trigger(name='kind_of_partner', sql=core.database.triggers.PermanentTriggerSql(func="\n            IF NOT starts_with(NEW.prefix, (\n                SELECT CASE mode WHEN 'live' THEN 'psi_key_' WHEN 'sandbox' THEN 'psi_test_key_' END\n                  FROM partners_partner WHERE id = NEW.partner_id\n            )) THEN\n                RAISE EXCEPTION 'A key of this kind is not for this kind of partner.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n         RETURN NEW;", hash='c746fe40ed41501878145f4b5e84df638ea82cb9', operation='INSERT', pgid='pgtrigger_kind_of_partner_4f778', table='partners_apikey', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND is_erasing() THEN RETURN OLD; END IF;\n    IF least(OLD.revoked_at, OLD.expires_at) < now() - (CASE WHEN starts_with(OLD.prefix, 'psi_test_key_') THEN 30 ELSE 365 END) * interval '1 day' THEN RETURN OLD; END IF; RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='a0b5480166db1223537f2b8bb9f5c761df6b4e82', operation='DELETE', pgid='pgtrigger_no_delete_e4584', table='partners_apikey', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='ab16597d22925fa3c6f2f3c24937e3093e199786', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_5cfcd', table='partners_apikey', when='BEFORE')), pgtrigger.compiler.Trigger(name='key_identity_immutable', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (ROW(OLD.id, OLD.partner_id, OLD.prefix, OLD.digest, OLD.created_at) IS DISTINCT FROM ROW(NEW.id, NEW.partner_id, NEW.prefix, NEW.digest, NEW.created_at))', func="RAISE EXCEPTION 'The identity of an API key does not change.' USING ERRCODE = 'integrity_constraint_violation'; RETURN NEW;", hash='41ff1c2471d72517b33c45b2b49f1d1a50bc5564', operation='UPDATE', pgid='pgtrigger_key_identity_immutable_41604', table='partners_apikey', when='BEFORE')), pgtrigger.compiler.Trigger(name='revocation_stays', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at AND OLD.revoked_at IS NOT NULL)', func="RAISE EXCEPTION 'A revoked API key stays revoked.' USING ERRCODE = 'integrity_constraint_violation'; RETURN NEW;", hash='3a58ce61157ec68e3d54fcdf2122869e78f1fd1a', operation='UPDATE', pgid='pgtrigger_revocation_stays_bbb7a', table='partners_apikey', when='BEFORE')), pgtrigger.compiler.Trigger(name='expiry_comes_no_later', sql=core.database.triggers.PermanentTriggerSql(condition="WHEN (coalesce(NEW.expires_at, 'infinity') > coalesce(OLD.expires_at, 'infinity'))", func="RAISE EXCEPTION 'An API key expires no later than it was to.' USING ERRCODE = 'integrity_constraint_violation'; RETURN NEW;", hash='dd4327e847f346a48ae1118412374be078d42e9e', operation='UPDATE', pgid='pgtrigger_expiry_comes_no_later_a2035', table='partners_apikey', when='BEFORE'))],
        ),
        AddTriggers(
            model_name='apikeyevent',
            triggers=[pgtrigger.compiler.Trigger(name='no_update', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='1356096dcae6ae1eb47e186d6ec83879547d7c7f', operation='UPDATE', pgid='pgtrigger_no_update_f0a6b', table='partners_apikeyevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND is_erasing() THEN RETURN OLD; END IF;\n    IF NOT EXISTS (SELECT FROM partners_apikey WHERE id = OLD.pgh_obj_id) THEN RETURN OLD; END IF; RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='00f78b433509059d4e6564b5390fda989d09f997', operation='DELETE', pgid='pgtrigger_no_delete_be146', table='partners_apikeyevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='9af2a97baa301b793637e721138c02b0c0f0fba8', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_d60f0', table='partners_apikeyevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='audit', sql=core.database.triggers.PermanentTriggerSql(declare='DECLARE before jsonb; after jsonb;', func='\n            IF NEW.pgh_label = \'delete\' THEN\n                before := to_jsonb(NEW);\n            ELSE\n                after := to_jsonb(NEW);\n                SELECT to_jsonb(earlier) INTO before FROM partners_apikeyevent AS earlier\n                 WHERE pgh_obj_id = NEW.pgh_obj_id AND pgh_id < NEW.pgh_id ORDER BY pgh_id DESC LIMIT 1;\n            END IF;\n            \n        INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> \'staff\', context ->> \'by\', context ->> \'operator\', context ->> \'partner\', \'\'), CASE WHEN context ? \'staff\' THEN \'staff\' WHEN context ? \'by\' THEN \'staff\' WHEN context ? \'operator\' THEN \'operator\' WHEN context ? \'partner\' THEN \'partner\' ELSE \'\' END, \'apiKey.\' || CASE NEW.pgh_label WHEN \'insert\' THEN \'created\' WHEN \'update\' THEN \'changed\' ELSE \'removed\' END, NEW.prefix,\n               jsonb_strip_nulls(jsonb_build_object(\'operator\', context ->> \'operator\', \'command\', context ->> \'command\', \'key\', context ->> \'key\', \'requestId\', context ->> \'requestId\', \'source\', context ->> \'source\', \'reason\', context ->> \'reason\') || jsonb_build_object(\'partner\', (SELECT slug FROM partners_partner WHERE id = NEW.partner_id), \'changes\', (SELECT jsonb_object_agg(name, jsonb_build_array(coalesce(nullif(before -> name, \'""\'), \'null\'), coalesce(nullif(after -> name, \'""\'), \'null\'))) FROM unnest(ARRAY[\'label\', \'expires_at\', \'revoked_at\']::text[]) AS name\n                    WHERE coalesce(nullif(before -> name, \'""\'), \'null\') IS DISTINCT FROM coalesce(nullif(after -> name, \'""\'), \'null\'))))\n          FROM (SELECT coalesce(NEW.pgh_context, \'{}\') || jsonb_strip_nulls(jsonb_build_object(\'staff\', NULL::text))\n                    AS context) AS given\n         WHERE true\n    ;\n         RETURN NULL;', hash='b4fa53046e64f9f6f2b6f2d4b6a1fdd44ad8e0a2', operation='INSERT', pgid='pgtrigger_audit_57ff2', table='partners_apikeyevent', when='AFTER'))],
        ),
        # Written by hand.
        migrations.RunSQL(['CREATE OR REPLACE FUNCTION mode_of_partner(wanted text) RETURNS text\nLANGUAGE sql STABLE SET search_path = public, pg_temp AS $$\n    -- The mode of the partner of this slug; null where there is none. For the audit log (core/models.py).\n    SELECT mode FROM partners_partner WHERE slug = wanted\n$$;\nREVOKE ALL ON FUNCTION mode_of_partner FROM PUBLIC;\n'], migrations.RunSQL.noop),

        *(set_storage(table, parameters) for table, parameters in STORAGE.items()),
    ]
