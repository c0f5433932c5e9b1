import core.database.triggers
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import pghistory.utils
import pgtrigger.compiler
import uuid
from django.db import migrations, models

from core.database.triggers import AddTriggers


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('partners', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='OutboxEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('partner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='partners.partner')),
                ('type', models.CharField(choices=[('user.statusChanged', 'Status changed'), ('user.requirementsChanged', 'Requirements changed'), ('user.erased', 'User erased'), ('user.transactionsRecorded', 'Transactions recorded'), ('user.documentPublished', 'Document published'), ('user.documentWithdrawn', 'Document withdrawn')], max_length=40)),
                ('created_at', models.DateTimeField(db_default=models.Func(function='clock_timestamp'))),
                ('user_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None)),
                ('external_ids', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None)),
                ('times', django.contrib.postgres.fields.ArrayField(base_field=models.DateTimeField(), null=True, size=None)),
                ('data', models.JSONField(null=True)),
                ('size', models.PositiveIntegerField(db_default=1)),
                ('transaction_id', models.BigIntegerField(db_default=models.Func(template='pg_current_xact_id()::text::bigint'))),
                ('transaction_time', models.DateTimeField(db_default=models.Func(function='transaction_timestamp'))),
            ],
            options={
                'verbose_name_plural': 'outbox entries',
                'indexes': [models.Index(fields=['partner', 'id'], name='outbox_of_partner'), models.Index(condition=models.Q(('data', None)), fields=['transaction_id'], name='outbox_of_transaction')],
                'constraints': [models.CheckConstraint(condition=models.Q(('type__in', ['user.statusChanged', 'user.requirementsChanged', 'user.erased', 'user.transactionsRecorded', 'user.documentPublished', 'user.documentWithdrawn'])), name='outbox_type_known')],
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('partner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='partners.partner')),
                ('user_id', models.UUIDField(verbose_name='user')),
                ('event_id', models.UUIDField(db_default=models.Func(function='gen_random_uuid'), verbose_name='eventId')),
                ('type', models.CharField(choices=[('user.statusChanged', 'Status changed'), ('user.requirementsChanged', 'Requirements changed'), ('user.erased', 'User erased'), ('user.transactionsRecorded', 'Transactions recorded'), ('user.documentPublished', 'Document published'), ('user.documentWithdrawn', 'Document withdrawn')], max_length=40, verbose_name='type')),
                ('created_at', models.DateTimeField(verbose_name='created at')),
                ('data', models.JSONField(verbose_name='data')),
                ('position', models.BigIntegerField(verbose_name='position')),
            ],
            options={
                'verbose_name': 'event',
                'verbose_name_plural': 'events',
                'indexes': [models.Index(fields=['user_id'], name='event_of_user')],
                'constraints': [models.CheckConstraint(condition=models.Q(('type__in', ['user.statusChanged', 'user.requirementsChanged', 'user.erased', 'user.transactionsRecorded', 'user.documentPublished', 'user.documentWithdrawn'])), name='event_type_known'), models.UniqueConstraint(fields=('partner', 'position'), name='event_position')],
            },
        ),
        migrations.CreateModel(
            name='EventFeed',
            fields=[
                ('partner', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='feed', serialize=False, to='partners.partner')),
                ('last_position', models.BigIntegerField(db_default=0)),
                ('purged_position', models.BigIntegerField(db_default=0)),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('stopped_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='WebhookEndpoint',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='webhookId')),
                ('partner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='webhooks', to='partners.partner', verbose_name='partner')),
                ('url', models.CharField(max_length=500, verbose_name='URL')),
                ('types', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('user.statusChanged', 'Status changed'), ('user.requirementsChanged', 'Requirements changed'), ('user.erased', 'User erased'), ('user.transactionsRecorded', 'Transactions recorded'), ('user.documentPublished', 'Document published'), ('user.documentWithdrawn', 'Document withdrawn')], max_length=40), blank=True, default=list, help_text='Without any: all.', size=None, verbose_name='types')),
                ('description', models.CharField(blank=True, max_length=200, verbose_name='description')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('disabled_reason', models.CharField(blank=True, choices=[('staff', 'By staff'), ('gone', 'It responded with 410 Gone'), ('failing', 'It failed for 5 days')], editable=False, max_length=10, verbose_name='disabled reason')),
                ('disabled_at', models.DateTimeField(editable=False, null=True, verbose_name='disabled at')),
                ('last_success_at', models.DateTimeField(editable=False, null=True, verbose_name='last success')),
                ('failing_since', models.DateTimeField(editable=False, null=True, verbose_name='failing since')),
                ('failing_days', django.contrib.postgres.fields.ArrayField(base_field=models.DateField(), db_default=[], default=list, editable=False, size=None)),
                ('removed_at', models.DateTimeField(editable=False, null=True, verbose_name='removed at')),
            ],
            options={
                'verbose_name': 'webhook',
                'verbose_name_plural': 'webhooks',
                'ordering': ('created_at', 'id'),
                'indexes': [models.Index(fields=['partner', 'created_at'], name='webhook_of_partner')],
                'constraints': [models.CheckConstraint(condition=models.Q(('disabled_reason__in', ('', 'staff', 'gone', 'failing'))), name='webhook_disabled_reason_known'), models.CheckConstraint(condition=models.Q(('url__iregex', '^https://[^\\s/?#@:\\\\]+(:[0-9]{1,5})?([/?][!-~]*)?$')), name='webhook_url_https')],
            },
        ),
        migrations.CreateModel(
            name='WebhookEndpointEvent',
            fields=[
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('pgh_id', models.BigAutoField(primary_key=True, serialize=False)),
                ('pgh_obj', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='history', related_query_name='history', to='events.webhookendpoint')),
                ('pgh_context', pghistory.utils.JSONField(null=True)),
                ('partner', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='partners.partner', verbose_name='partner')),
                ('url', models.CharField(max_length=500, verbose_name='URL')),
                ('types', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('user.statusChanged', 'Status changed'), ('user.requirementsChanged', 'Requirements changed'), ('user.erased', 'User erased'), ('user.transactionsRecorded', 'Transactions recorded'), ('user.documentPublished', 'Document published'), ('user.documentWithdrawn', 'Document withdrawn')], max_length=40), blank=True, default=list, help_text='Without any: all.', size=None, verbose_name='types')),
                ('description', models.CharField(blank=True, max_length=200, verbose_name='description')),
                ('disabled_reason', models.CharField(blank=True, choices=[('staff', 'By staff'), ('gone', 'It responded with 410 Gone'), ('failing', 'It failed for 5 days')], editable=False, max_length=10, verbose_name='disabled reason')),
                ('removed_at', models.DateTimeField(editable=False, null=True, verbose_name='removed at')),
            ],
            options={
                'abstract': False,
                'default_permissions': (),
                'indexes': [models.Index(fields=['pgh_obj', 'pgh_id'], name='webhookendpointevent_of_row')],
                'constraints': [models.CheckConstraint(condition=models.Q(('pgh_context__isnull', True), models.Func('pgh_context', output_field=models.BooleanField(), template='coalesce(jsonb_path_match(%(expressions)s, \'$.type() == "object" && !exists($.keyvalue() ? (@.value.type() != "string"))\', silent => true), false)'), _connector='OR'), name='webhookendpointevent_context_readable')],
            },
        ),
        migrations.CreateModel(
            name='WebhookSecret',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('endpoint', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='secrets', to='events.webhookendpoint')),
                ('encrypted_secret', models.TextField(editable=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('expires_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='WebhookSecretEvent',
            fields=[
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('pgh_id', models.BigAutoField(primary_key=True, serialize=False)),
                ('pgh_obj', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='history', related_query_name='history', to='events.webhooksecret')),
                ('pgh_context', pghistory.utils.JSONField(null=True)),
                ('endpoint', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='events.webhookendpoint')),
                ('expires_at', models.DateTimeField(null=True)),
            ],
            options={
                'abstract': False,
                'default_permissions': (),
                'indexes': [models.Index(fields=['pgh_obj', 'pgh_id'], name='webhooksecretevent_of_row')],
                'constraints': [models.CheckConstraint(condition=models.Q(('pgh_context__isnull', True), models.Func('pgh_context', output_field=models.BooleanField(), template='coalesce(jsonb_path_match(%(expressions)s, \'$.type() == "object" && !exists($.keyvalue() ? (@.value.type() != "string"))\', silent => true), false)'), _connector='OR'), name='webhooksecretevent_context_readable')],
            },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('endpoint', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='events.webhookendpoint', verbose_name='webhook')),
                ('event', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='events.event', verbose_name='event')),
                ('event_uuid', models.UUIDField(default=uuid.uuid4, editable=False, verbose_name='eventId')),
                ('type', models.CharField(max_length=40, verbose_name='type')),
                ('user_id', models.UUIDField(null=True, verbose_name='user')),
                ('position', models.BigIntegerField(null=True)),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('delivered', 'Delivered'), ('failed', 'Failed'), ('skipped', 'Skipped')], db_default='pending', editable=False, max_length=10, verbose_name='state')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('attempts', models.JSONField(default=list, editable=False, verbose_name='attempts')),
                ('attempt_count', models.PositiveIntegerField(db_default=0, editable=False, verbose_name='attempts')),
                ('next_attempt_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, null=True, verbose_name='next attempt')),
                ('leased_until', models.DateTimeField(editable=False, null=True)),
                ('ended_at', models.DateTimeField(editable=False, null=True, verbose_name='ended at')),
            ],
            options={
                'verbose_name': 'webhook delivery',
                'verbose_name_plural': 'webhook deliveries',
                'ordering': ('-id',),
                'indexes': [models.Index(condition=models.Q(('state', 'pending')), fields=['endpoint', 'next_attempt_at', 'position'], name='delivery_due'), models.Index(condition=models.Q(('attempt_count', 0), ('state', 'pending')), fields=['endpoint', 'user_id', 'position'], name='delivery_first_attempt'), models.Index(condition=models.Q(('leased_until__isnull', False)), fields=['endpoint'], name='delivery_leased'), models.Index(condition=models.Q(('event', None), ('state', 'pending')), fields=['endpoint'], name='delivery_test'), models.Index(fields=['endpoint', '-id'], name='delivery_of_endpoint'), models.Index(fields=['created_at'], name='delivery_created_at')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'delivered', 'failed', 'skipped'])), name='delivery_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('ended_at', None), ('next_attempt_at__isnull', False), ('state', 'pending')), models.Q(models.Q(('state', 'pending'), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='delivery_ended_once'), models.CheckConstraint(condition=models.Q(('attempts__isnull', True), models.Func('attempts', output_field=models.BooleanField(), template='coalesce(jsonb_path_match(%(expressions)s, \'$.type() == "array" && !exists($[*].type() ? (@ != "object")) && !exists($[*] ? (!( @.at.type() == "string" && @.milliseconds.type() == "number" && (@.status.type() == "number" || @.error.type() == "string")))) && !exists($.**{8 to last}) && !exists($.** ? (@.type() == "number" && (@ > 1e12 || @ < -1e12)))\', silent => true), false)'), _connector='OR'), name='delivery_attempts_readable')],
            },
        ),
        AddTriggers(
            model_name='webhookendpoint',
            triggers=[pgtrigger.compiler.Trigger(name='history_goes', sql=core.database.triggers.PermanentTriggerSql(func='DELETE FROM events_webhookendpointevent WHERE pgh_obj_id = OLD.id; RETURN NULL;', hash='d5324f2a0b88909b9413e56c24779054644e1bb5', operation='DELETE', pgid='pgtrigger_history_goes_77a5b', table='events_webhookendpoint', when='AFTER')), pgtrigger.compiler.Trigger(name='insert_insert', sql=core.database.triggers.PermanentTriggerSql(func='INSERT INTO "events_webhookendpointevent" ("description", "disabled_reason", "partner_id", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "removed_at", "types", "url") VALUES (NEW."description", NEW."disabled_reason", NEW."partner_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'insert\', NEW."id", NEW."removed_at", NEW."types", NEW."url"); RETURN NULL;', hash='62b298676d7e62cd138a7aaaa515df18e1a91f29', operation='INSERT', pgid='pgtrigger_insert_insert_75313', table='events_webhookendpoint', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (OLD."description" IS DISTINCT FROM (NEW."description") OR OLD."disabled_reason" IS DISTINCT FROM (NEW."disabled_reason") OR OLD."partner_id" IS DISTINCT FROM (NEW."partner_id") OR OLD."removed_at" IS DISTINCT FROM (NEW."removed_at") OR OLD."types" IS DISTINCT FROM (NEW."types") OR OLD."url" IS DISTINCT FROM (NEW."url"))', func='INSERT INTO "events_webhookendpointevent" ("description", "disabled_reason", "partner_id", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "removed_at", "types", "url") VALUES (NEW."description", NEW."disabled_reason", NEW."partner_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'update\', NEW."id", NEW."removed_at", NEW."types", NEW."url"); RETURN NULL;', hash='e74ee2503a38a0fb892a1ab5f99c7798ffb4d995', operation='UPDATE', pgid='pgtrigger_update_update_0f11f', table='events_webhookendpoint', when='AFTER'))],
        ),
        AddTriggers(
            model_name='webhookendpointevent',
            triggers=[pgtrigger.compiler.Trigger(name='no_update', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='c26a26762691b536a119eefcf3bfb647c3efab0c', operation='UPDATE', pgid='pgtrigger_no_update_33b44', table='events_webhookendpointevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND is_erasing() THEN RETURN OLD; END IF;\n    IF NOT EXISTS (SELECT FROM events_webhookendpoint WHERE id = OLD.pgh_obj_id) THEN RETURN OLD; END IF; RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='669cb658e67c2a9d06a4ad20126b52ba80dc2149', operation='DELETE', pgid='pgtrigger_no_delete_0d7f3', table='events_webhookendpointevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='8559e1afe802e46eb9d4b2d341fd71d052b9103f', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_83c8d', table='events_webhookendpointevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='audit', sql=core.database.triggers.PermanentTriggerSql(declare='DECLARE before jsonb; after jsonb;', func='\n            IF NEW.pgh_label = \'delete\' THEN\n                before := to_jsonb(NEW);\n            ELSE\n                after := to_jsonb(NEW);\n                SELECT to_jsonb(earlier) INTO before FROM events_webhookendpointevent AS earlier\n                 WHERE pgh_obj_id = NEW.pgh_obj_id AND pgh_id < NEW.pgh_id ORDER BY pgh_id DESC LIMIT 1;\n            END IF;\n            \n        INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> \'staff\', context ->> \'by\', context ->> \'operator\', context ->> \'partner\', \'\'), CASE WHEN context ? \'staff\' THEN \'staff\' WHEN context ? \'by\' THEN \'staff\' WHEN context ? \'operator\' THEN \'operator\' WHEN context ? \'partner\' THEN \'partner\' ELSE \'\' END, \'webhook.\' || CASE NEW.pgh_label WHEN \'insert\' THEN \'created\' WHEN \'update\' THEN \'changed\' ELSE \'removed\' END, NEW.pgh_obj_id::text,\n               jsonb_strip_nulls(jsonb_build_object(\'operator\', context ->> \'operator\', \'command\', context ->> \'command\', \'key\', context ->> \'key\', \'requestId\', context ->> \'requestId\', \'source\', context ->> \'source\', \'reason\', context ->> \'reason\') || jsonb_build_object(\'partner\', (SELECT slug FROM partners_partner WHERE id = NEW.partner_id), \'changes\', (SELECT jsonb_object_agg(name, CASE WHEN name IN (\'url\') THEN \'["…", "…"]\' ELSE jsonb_build_array(coalesce(nullif(before -> name, \'""\'), \'null\'), coalesce(nullif(after -> name, \'""\'), \'null\')) END) FROM unnest(ARRAY[\'url\', \'types\', \'description\', \'disabled_reason\', \'removed_at\']::text[]) AS name\n                    WHERE coalesce(nullif(before -> name, \'""\'), \'null\') IS DISTINCT FROM coalesce(nullif(after -> name, \'""\'), \'null\'))))\n          FROM (SELECT coalesce(NEW.pgh_context, \'{}\') || jsonb_strip_nulls(jsonb_build_object(\'staff\', NULL::text))\n                    AS context) AS given\n         WHERE true\n    ;\n         RETURN NULL;', hash='c77c0a4534815a10d575d29901334b7147c16def', operation='INSERT', pgid='pgtrigger_audit_00924', table='events_webhookendpointevent', when='AFTER'))],
        ),
        AddTriggers(
            model_name='webhooksecret',
            triggers=[pgtrigger.compiler.Trigger(name='history_goes', sql=core.database.triggers.PermanentTriggerSql(func='DELETE FROM events_webhooksecretevent WHERE pgh_obj_id = OLD.id; RETURN NULL;', hash='9026a05f57f6b928f21f6538610c3d53cc3d6d01', operation='DELETE', pgid='pgtrigger_history_goes_fa55d', table='events_webhooksecret', when='AFTER')), pgtrigger.compiler.Trigger(name='insert_insert', sql=core.database.triggers.PermanentTriggerSql(func='INSERT INTO "events_webhooksecretevent" ("endpoint_id", "expires_at", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id") VALUES (NEW."endpoint_id", NEW."expires_at", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'insert\', NEW."id"); RETURN NULL;', hash='ea96418db183099c410fe635f81fe4c0f4e88a91', operation='INSERT', pgid='pgtrigger_insert_insert_4cb08', table='events_webhooksecret', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (OLD."endpoint_id" IS DISTINCT FROM (NEW."endpoint_id") OR OLD."expires_at" IS DISTINCT FROM (NEW."expires_at"))', func='INSERT INTO "events_webhooksecretevent" ("endpoint_id", "expires_at", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id") VALUES (NEW."endpoint_id", NEW."expires_at", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'update\', NEW."id"); RETURN NULL;', hash='3a3d0fd4a07393dfa1cfef119357e48529a44e53', operation='UPDATE', pgid='pgtrigger_update_update_fe00e', table='events_webhooksecret', when='AFTER'))],
        ),
        AddTriggers(
            model_name='webhooksecretevent',
            triggers=[pgtrigger.compiler.Trigger(name='no_update', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='88caf1ab57773b6561e966fb8ac46042c32caa89', operation='UPDATE', pgid='pgtrigger_no_update_4fee8', table='events_webhooksecretevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND is_erasing() THEN RETURN OLD; END IF;\n    IF NOT EXISTS (SELECT FROM events_webhooksecret WHERE id = OLD.pgh_obj_id) THEN RETURN OLD; END IF; RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='3dc51a230a1ac5fd6389c79d484ead64f47cc49a', operation='DELETE', pgid='pgtrigger_no_delete_b2edc', table='events_webhooksecretevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='e88e7482073861e5a369e5150dc5e3c5e5bd4271', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_7b11c', table='events_webhooksecretevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='audit', sql=core.database.triggers.PermanentTriggerSql(declare='DECLARE before jsonb; after jsonb;', func='\n            IF NEW.pgh_label = \'delete\' THEN\n                before := to_jsonb(NEW);\n            ELSE\n                after := to_jsonb(NEW);\n                SELECT to_jsonb(earlier) INTO before FROM events_webhooksecretevent AS earlier\n                 WHERE pgh_obj_id = NEW.pgh_obj_id AND pgh_id < NEW.pgh_id ORDER BY pgh_id DESC LIMIT 1;\n            END IF;\n            \n        INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> \'staff\', context ->> \'by\', context ->> \'operator\', context ->> \'partner\', \'\'), CASE WHEN context ? \'staff\' THEN \'staff\' WHEN context ? \'by\' THEN \'staff\' WHEN context ? \'operator\' THEN \'operator\' WHEN context ? \'partner\' THEN \'partner\' ELSE \'\' END, \'webhookSecret.\' || CASE NEW.pgh_label WHEN \'insert\' THEN \'created\' WHEN \'update\' THEN \'changed\' ELSE \'removed\' END, NEW.endpoint_id::text,\n               jsonb_strip_nulls(jsonb_build_object(\'operator\', context ->> \'operator\', \'command\', context ->> \'command\', \'key\', context ->> \'key\', \'requestId\', context ->> \'requestId\', \'source\', context ->> \'source\', \'reason\', context ->> \'reason\') || jsonb_build_object(\'changes\', (SELECT jsonb_object_agg(name, jsonb_build_array(coalesce(nullif(before -> name, \'""\'), \'null\'), coalesce(nullif(after -> name, \'""\'), \'null\'))) FROM unnest(ARRAY[\'expires_at\']::text[]) AS name\n                    WHERE coalesce(nullif(before -> name, \'""\'), \'null\') IS DISTINCT FROM coalesce(nullif(after -> name, \'""\'), \'null\'))))\n          FROM (SELECT coalesce(NEW.pgh_context, \'{}\') || jsonb_strip_nulls(jsonb_build_object(\'staff\', NULL::text))\n                    AS context) AS given\n         WHERE true\n    ;\n         RETURN NULL;', hash='5eb9d95700fb62a145f6d63df56920415c08982d', operation='INSERT', pgid='pgtrigger_audit_16453', table='events_webhooksecretevent', when='AFTER'))],
        ),
        # Written by hand.
        migrations.RunSQL(['-- One of the two ways to change a feed: the serving role may execute them, and has no rights on the tables but SELECT.\n--\n-- Makes events of a partner\'s entries of the outbox, at the next positions of its feed, and their deliveries to the\n-- endpoints that are active. Entries without `data` become one event for each user and transaction: the caller names\n-- all of a transaction. While another session does this for the partner, nothing is placed. A failure undoes all but\n-- the mark that the feed is stopped, and is returned: its SQLSTATE, and the constraint.\n--\n-- The lock ends with the one statement that calls it, whatever becomes of the caller. 2: the kind of these locks.\nCREATE OR REPLACE FUNCTION events_place(partner bigint, entries bigint[], OUT placed bigint, OUT failure text)\nLANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$\nDECLARE\n    wire_time CONSTANT text := \'YYYY-MM-DD"T"HH24:MI:SS.US"Z"\';\n    violated text;\nBEGIN\n    placed := 0;\n    IF NOT pg_try_advisory_xact_lock(2, hashint8(partner)) THEN\n        RETURN;\n    END IF;\n    -- A statement of its own, whose snapshot shows what the holder before has placed.\n    WITH taken AS (\n        DELETE FROM events_outboxentry WHERE partner_id = partner AND id = ANY(entries) RETURNING *\n    ), of_rows AS (\n        SELECT id, type, created_at, transaction_id, transaction_time, unnest(user_ids) AS user_id,\n               unnest(external_ids) AS external_id, unnest(times) AS time\n          FROM taken WHERE data IS NULL\n    ), events AS (\n        SELECT id, user_ids[1] AS user_id, type, created_at, data FROM taken WHERE data IS NOT NULL\n         UNION ALL\n        SELECT min(id), user_id, type, min(created_at),\n               jsonb_build_object(\'externalId\', min(external_id), \'userId\', user_id, \'count\', count(*),\n                                  \'oldestCreatedAt\', to_char(min(time) AT TIME ZONE \'UTC\', wire_time),\n                                  \'newestCreatedAt\', to_char(max(time) AT TIME ZONE \'UTC\', wire_time))\n          FROM of_rows GROUP BY transaction_id, transaction_time, type, user_id\n    ), numbered AS (\n        SELECT *, row_number() OVER (ORDER BY id, user_id) AS number, count(*) OVER () AS count FROM events\n    ), feed AS (\n        INSERT INTO events_eventfeed AS feed (partner_id, last_position)\n        SELECT partner, count(*) FROM events HAVING count(*) > 0\n            ON CONFLICT (partner_id)\n            DO UPDATE SET last_position = feed.last_position + excluded.last_position, updated_at = now(),\n                          stopped_at = NULL\n     RETURNING last_position\n    ), made AS (\n        INSERT INTO events_event (partner_id, user_id, type, created_at, data, position)\n        SELECT partner, user_id, type, created_at, data, last_position - count + number\n          FROM numbered CROSS JOIN feed ORDER BY number\n     RETURNING *\n    ), deliveries AS (\n        INSERT INTO events_webhookdelivery (endpoint_id, event_id, event_uuid, type, user_id, position, attempts)\n        SELECT endpoint.id, made.id, made.event_id, made.type, made.user_id, made.position, \'[]\'\n          FROM made JOIN events_webhookendpoint endpoint USING (partner_id)\n         WHERE disabled_reason = \'\' AND removed_at IS NULL AND (types = \'{}\' OR made.type = ANY(types))\n         ORDER BY endpoint.id, made.position\n    )\n    SELECT count(*) INTO placed FROM made;\nEXCEPTION WHEN OTHERS THEN\n    GET STACKED DIAGNOSTICS violated = CONSTRAINT_NAME;\n    placed := 0;\n    failure := rtrim(SQLSTATE || \' \' || violated);\n    INSERT INTO events_eventfeed AS feed (partner_id, stopped_at) VALUES (partner, now())\n        ON CONFLICT (partner_id) DO UPDATE SET stopped_at = excluded.stopped_at WHERE feed.stopped_at IS NULL;\nEND\n$$;\nREVOKE ALL ON FUNCTION events_place(bigint, bigint[]) FROM PUBLIC;\n'], migrations.RunSQL.noop),
        migrations.RunSQL(["-- The other way to change a feed: removes up to `batch` events from the beginning of a partner's, up to the first that\n-- is not older than 30 days (contract, section 10): events of transactions that overlapped may differ from the feed's\n-- order in their times. Deliveries refer to their events; the constraint is checked at the end of the transaction.\nCREATE OR REPLACE FUNCTION events_purge(partner bigint, batch integer, OUT purged bigint)\nLANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$\n    WITH oldest AS (\n        SELECT event.id, event.position, event.created_at < now() - interval '30 days' AS expired\n          FROM events_eventfeed feed\n          JOIN events_event event ON event.partner_id = feed.partner_id AND event.position > feed.purged_position\n         WHERE feed.partner_id = partner\n         ORDER BY event.position LIMIT batch\n    ), expired AS (\n        SELECT id, position FROM oldest\n         WHERE position < COALESCE((SELECT min(position) FROM oldest WHERE NOT expired), 9223372036854775807)\n    ), deliveries AS (\n        DELETE FROM events_webhookdelivery WHERE event_id IN (SELECT id FROM expired)\n    ), feed AS (\n        UPDATE events_eventfeed SET purged_position = (SELECT max(position) FROM expired), updated_at = now()\n         WHERE partner_id = partner AND purged_position < (SELECT max(position) FROM expired)\n    ), deleted AS (\n        DELETE FROM events_event WHERE id IN (SELECT id FROM expired) RETURNING id\n    )\n    SELECT count(*) FROM deleted\n$$;\nREVOKE ALL ON FUNCTION events_purge(bigint, integer) FROM PUBLIC;\n"], migrations.RunSQL.noop),
    ]
