import core.database.triggers
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.datetime
import partners.models.partner
import pghistory.utils
import pgtrigger.compiler
import uuid
from django.db import migrations, models

from core.database.operations import AddTriggers, set_storage

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
                ('name', models.CharField(max_length=200, validators=[partners.models.partner.validate_one_line], verbose_name='name')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('sandbox', 'Sandbox')], db_default='live', default='live', help_text='A sandbox partner tests its integration, with users that are not real. It never changes.', max_length=10, verbose_name='mode')),
                ('enabled', models.BooleanField(default=True, help_text='A disabled partner is refused from its next request on.', verbose_name='enabled')),
                ('rate_limit', models.CharField(blank=True, help_text="Such as 600/minute; empty for the service's default.", max_length=40, validators=[partners.models.partner.validate_rate], verbose_name='rate limit')),
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
                ('name', models.CharField(max_length=200, validators=[partners.models.partner.validate_one_line], verbose_name='name')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('sandbox', 'Sandbox')], db_default='live', default='live', help_text='A sandbox partner tests its integration, with users that are not real. It never changes.', max_length=10, verbose_name='mode')),
                ('enabled', models.BooleanField(default=True, help_text='A disabled partner is refused from its next request on.', verbose_name='enabled')),
                ('rate_limit', models.CharField(blank=True, help_text="Such as 600/minute; empty for the service's default.", max_length=40, validators=[partners.models.partner.validate_rate], verbose_name='rate limit')),
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
                ('label', models.CharField(blank=True, max_length=100, validators=[partners.models.partner.validate_one_line], verbose_name='label')),
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
                ('label', models.CharField(blank=True, max_length=100, validators=[partners.models.partner.validate_one_line], verbose_name='label')),
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
                'constraints': [models.CheckConstraint(condition=models.Q(('diagnosis__isnull', True), models.Func('diagnosis', output_field=models.BooleanField(), template='coalesce(jsonb_path_match(%(expressions)s, \'$.type() == "object" && $.cause.type() == "string" && $.message.type() == "string" && $.canonicalRequest.type() == "string" && !exists($.**{8 to last}) && !exists($.** ? (@.type() == "number" && (@ > 1e12 || @ < -1e12)))\', silent => true), false)'), _connector='OR'), name='sandbox_request_diagnosis_readable'), models.CheckConstraint(condition=models.Q(('field_errors__isnull', True), models.Func('field_errors', output_field=models.BooleanField(), template='coalesce(jsonb_path_match(%(expressions)s, \'$.type() == "array" && !exists($[*].type() ? (@ != "object")) && !exists($[*] ? (!( @.field.type() == "string" && @.message.type() == "string" && @.code.type() == "string"))) && !exists($.**{8 to last}) && !exists($.** ? (@.type() == "number" && (@ > 1e12 || @ < -1e12)))\', silent => true), false)'), _connector='OR'), name='sandbox_request_field_errors_readable')],
            },
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
                ('position', models.BigIntegerField(default=0, editable=False)),
                ('fan_out_after', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
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
                ('pgh_obj', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='history', related_query_name='history', to='partners.webhookendpoint')),
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
                ('endpoint', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='secrets', to='partners.webhookendpoint')),
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
                ('pgh_obj', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='history', related_query_name='history', to='partners.webhooksecret')),
                ('pgh_context', pghistory.utils.JSONField(null=True)),
                ('endpoint', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='partners.webhookendpoint')),
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
                ('endpoint', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='partners.webhookendpoint', verbose_name='webhook')),
                ('event', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='partners.event', verbose_name='event')),
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
                'constraints': [models.CheckConstraint(condition=models.Q(('attempts__isnull', True), models.Func('attempts', output_field=models.BooleanField(), template='coalesce(jsonb_path_match(%(expressions)s, \'$.type() == "array" && !exists($[*].type() ? (@ != "object")) && !exists($[*] ? (!( @.at.type() == "string" && @.milliseconds.type() == "number" && (@.status.type() == "number" || @.error.type() == "string")))) && !exists($.**{8 to last}) && !exists($.** ? (@.type() == "number" && (@ > 1e12 || @ < -1e12)))\', silent => true), false)'), _connector='OR'), name='delivery_attempts_readable'), models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'delivered', 'failed', 'skipped'])), name='delivery_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('ended_at', None), ('next_attempt_at__isnull', False), ('state', 'pending')), models.Q(models.Q(('state', 'pending'), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='delivery_ended_once')],
            },
        ),
        AddTriggers(
            model_name='partner',
            triggers=[pgtrigger.compiler.Trigger(name='insert_insert', sql=core.database.triggers.PermanentTriggerSql(func='INSERT INTO "partners_partnerevent" ("enabled", "mode", "name", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "rate_limit", "slug") VALUES (NEW."enabled", NEW."mode", NEW."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'insert\', NEW."id", NEW."rate_limit", NEW."slug"); RETURN NULL;', hash='5ee18c45a47b5de5667263412f9d8d3dc5b2154d', operation='INSERT', pgid='pgtrigger_insert_insert_71860', table='partners_partner', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (OLD."enabled" IS DISTINCT FROM (NEW."enabled") OR OLD."mode" IS DISTINCT FROM (NEW."mode") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."rate_limit" IS DISTINCT FROM (NEW."rate_limit") OR OLD."slug" IS DISTINCT FROM (NEW."slug"))', func='INSERT INTO "partners_partnerevent" ("enabled", "mode", "name", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "rate_limit", "slug") VALUES (NEW."enabled", NEW."mode", NEW."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'update\', NEW."id", NEW."rate_limit", NEW."slug"); RETURN NULL;', hash='c79dc46533c29f35d2dfa57f46a6935d9859ca4c', operation='UPDATE', pgid='pgtrigger_update_update_17ece', table='partners_partner', when='AFTER')), pgtrigger.compiler.Trigger(name='mode_stays', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (OLD.mode IS DISTINCT FROM NEW.mode)', func="RAISE EXCEPTION 'The mode of a partner does not change.' USING ERRCODE = 'integrity_constraint_violation';", hash='c0f938973322e29fb864e46f12c08e106acf5348', operation='UPDATE', pgid='pgtrigger_mode_stays_4d55d', table='partners_partner', when='BEFORE'))],
        ),
        AddTriggers(
            model_name='partnerevent',
            triggers=[pgtrigger.compiler.Trigger(name='no_update', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='c7e135cbc41c0f556f9ff6b49408cdac9042da23', operation='UPDATE', pgid='pgtrigger_no_update_c5b37', table='partners_partnerevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='8e9589a77b603321fd557cc423e37c577b5bab35', operation='DELETE', pgid='pgtrigger_no_delete_868eb', table='partners_partnerevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='040be459e089f189944a3e190d49b22286b19e9b', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_d92fd', table='partners_partnerevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='audit', sql=core.database.triggers.PermanentTriggerSql(declare='DECLARE before jsonb; after jsonb;', func='\n            IF NEW.pgh_label = \'delete\' THEN\n                before := to_jsonb(NEW);\n            ELSE\n                after := to_jsonb(NEW);\n                SELECT to_jsonb(earlier) INTO before FROM partners_partnerevent AS earlier\n                 WHERE pgh_obj_id = NEW.pgh_obj_id AND pgh_id < NEW.pgh_id ORDER BY pgh_id DESC LIMIT 1;\n            END IF;\n            \n        INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> \'staff\', context ->> \'by\', context ->> \'operator\', context ->> \'partner\', \'\'), CASE WHEN context ? \'staff\' THEN \'staff\' WHEN context ? \'by\' THEN \'staff\' WHEN context ? \'operator\' THEN \'operator\' WHEN context ? \'partner\' THEN \'partner\' ELSE \'\' END, \'partner.\' || CASE NEW.pgh_label WHEN \'insert\' THEN \'created\' WHEN \'update\' THEN \'changed\' ELSE \'removed\' END, NEW.slug,\n               jsonb_strip_nulls(jsonb_build_object(\'operator\', context ->> \'operator\', \'command\', context ->> \'command\', \'key\', context ->> \'key\', \'requestId\', context ->> \'requestId\', \'source\', context ->> \'source\', \'reason\', context ->> \'reason\') || jsonb_build_object(\'changes\', (SELECT jsonb_object_agg(name, jsonb_build_array(coalesce(nullif(before -> name, \'""\'), \'null\'), coalesce(nullif(after -> name, \'""\'), \'null\'))) FROM unnest(ARRAY[\'slug\', \'name\', \'mode\', \'enabled\', \'rate_limit\']::text[]) AS name\n                    WHERE coalesce(nullif(before -> name, \'""\'), \'null\') IS DISTINCT FROM coalesce(nullif(after -> name, \'""\'), \'null\'))))\n          FROM (SELECT coalesce(NEW.pgh_context, \'{}\') || jsonb_strip_nulls(jsonb_build_object(\'staff\', NULL::text))\n                    AS context) AS given\n         WHERE true\n    ;\n            RETURN NULL;\n        ', hash='9ef9d280ff044b449b5f66aad428ace1fad0d66e', operation='INSERT', pgid='pgtrigger_audit_0eefb', table='partners_partnerevent', when='AFTER'))],
        ),
        AddTriggers(
            model_name='apikey',
            triggers=[pgtrigger.compiler.Trigger(name='history_goes', sql=core.database.triggers.PermanentTriggerSql(func='DELETE FROM partners_apikeyevent WHERE pgh_obj_id = OLD.id; RETURN NULL;', hash='35ad1e8613e2a9b31e7a56335bcf2ef62a15a697', operation='DELETE', pgid='pgtrigger_history_goes_7aa57', table='partners_apikey', when='AFTER')), pgtrigger.compiler.Trigger(name='insert_insert', sql=core.database.triggers.PermanentTriggerSql(func='INSERT INTO "partners_apikeyevent" ("expires_at", "label", "partner_id", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "prefix", "revoked_at") VALUES (NEW."expires_at", NEW."label", NEW."partner_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'insert\', NEW."id", NEW."prefix", NEW."revoked_at"); RETURN NULL;', hash='b556e6706a74ca95ed5cadd8737f8460b4c17f56', operation='INSERT', pgid='pgtrigger_insert_insert_5235f', table='partners_apikey', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (OLD."expires_at" IS DISTINCT FROM (NEW."expires_at") OR OLD."label" IS DISTINCT FROM (NEW."label") OR OLD."partner_id" IS DISTINCT FROM (NEW."partner_id") OR OLD."prefix" IS DISTINCT FROM (NEW."prefix") OR OLD."revoked_at" IS DISTINCT FROM (NEW."revoked_at"))', func='INSERT INTO "partners_apikeyevent" ("expires_at", "label", "partner_id", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "prefix", "revoked_at") VALUES (NEW."expires_at", NEW."label", NEW."partner_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'update\', NEW."id", NEW."prefix", NEW."revoked_at"); RETURN NULL;', hash='2145616bb3f4f62c9e18597d06050ad0226e036d', operation='UPDATE', pgid='pgtrigger_update_update_33ba9', table='partners_apikey', when='AFTER')), pgtrigger.compiler.Trigger(name='kind_of_partner', sql=core.database.triggers.PermanentTriggerSql(func="\n            IF NOT starts_with(NEW.prefix, (\n                SELECT CASE mode WHEN 'live' THEN 'psi_key_' WHEN 'sandbox' THEN 'psi_test_key_' END\n                  FROM partners_partner WHERE id = NEW.partner_id\n            )) THEN\n                RAISE EXCEPTION 'A key of this kind is not for this kind of partner.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='d3dbc4fee67682363a42670588030ddff08dbdc8', operation='INSERT', pgid='pgtrigger_kind_of_partner_4f778', table='partners_apikey', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    IF least(OLD.revoked_at, OLD.expires_at) < now() - (CASE WHEN starts_with(OLD.prefix, 'psi_test_key_') THEN 30 ELSE 365 END) * interval '1 day' THEN RETURN OLD; END IF; RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='2c5a5e07b88c9218d9a18c3cd3c56293de1a9e64', operation='DELETE', pgid='pgtrigger_no_delete_e4584', table='partners_apikey', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='ab16597d22925fa3c6f2f3c24937e3093e199786', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_5cfcd', table='partners_apikey', when='BEFORE')), pgtrigger.compiler.Trigger(name='key_identity_immutable', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (ROW(OLD.id, OLD.partner_id, OLD.prefix, OLD.digest, OLD.created_at) IS DISTINCT FROM ROW(NEW.id, NEW.partner_id, NEW.prefix, NEW.digest, NEW.created_at))', func="RAISE EXCEPTION 'The identity of an API key does not change.' USING ERRCODE = 'integrity_constraint_violation';", hash='1ab9eed2ec10bd1c70a77962683c890c6d5afdbe', operation='UPDATE', pgid='pgtrigger_key_identity_immutable_41604', table='partners_apikey', when='BEFORE')), pgtrigger.compiler.Trigger(name='revocation_stays', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at AND OLD.revoked_at IS NOT NULL)', func="RAISE EXCEPTION 'A revoked API key stays revoked.' USING ERRCODE = 'integrity_constraint_violation';", hash='8272a3c06abe2b609277e3d65b89e67af97a0a93', operation='UPDATE', pgid='pgtrigger_revocation_stays_bbb7a', table='partners_apikey', when='BEFORE')), pgtrigger.compiler.Trigger(name='expiry_comes_no_later', sql=core.database.triggers.PermanentTriggerSql(condition="WHEN (coalesce(NEW.expires_at, 'infinity') > coalesce(OLD.expires_at, 'infinity'))", func="RAISE EXCEPTION 'An API key expires no later than it was to.' USING ERRCODE = 'integrity_constraint_violation';", hash='a8af3c5a27d230df71bcc45af41ac6e921639478', operation='UPDATE', pgid='pgtrigger_expiry_comes_no_later_a2035', table='partners_apikey', when='BEFORE'))],
        ),
        AddTriggers(
            model_name='apikeyevent',
            triggers=[pgtrigger.compiler.Trigger(name='no_update', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='1356096dcae6ae1eb47e186d6ec83879547d7c7f', operation='UPDATE', pgid='pgtrigger_no_update_f0a6b', table='partners_apikeyevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    IF NOT EXISTS (SELECT FROM partners_apikey WHERE id = OLD.pgh_obj_id) THEN RETURN OLD; END IF; RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='34503f8068d8bc174292e59fd775bcffc0430a16', operation='DELETE', pgid='pgtrigger_no_delete_be146', table='partners_apikeyevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='9af2a97baa301b793637e721138c02b0c0f0fba8', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_d60f0', table='partners_apikeyevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='audit', sql=core.database.triggers.PermanentTriggerSql(declare='DECLARE before jsonb; after jsonb;', func='\n            IF NEW.pgh_label = \'delete\' THEN\n                before := to_jsonb(NEW);\n            ELSE\n                after := to_jsonb(NEW);\n                SELECT to_jsonb(earlier) INTO before FROM partners_apikeyevent AS earlier\n                 WHERE pgh_obj_id = NEW.pgh_obj_id AND pgh_id < NEW.pgh_id ORDER BY pgh_id DESC LIMIT 1;\n            END IF;\n            \n        INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> \'staff\', context ->> \'by\', context ->> \'operator\', context ->> \'partner\', \'\'), CASE WHEN context ? \'staff\' THEN \'staff\' WHEN context ? \'by\' THEN \'staff\' WHEN context ? \'operator\' THEN \'operator\' WHEN context ? \'partner\' THEN \'partner\' ELSE \'\' END, \'apiKey.\' || CASE NEW.pgh_label WHEN \'insert\' THEN \'created\' WHEN \'update\' THEN \'changed\' ELSE \'removed\' END, NEW.prefix,\n               jsonb_strip_nulls(jsonb_build_object(\'operator\', context ->> \'operator\', \'command\', context ->> \'command\', \'key\', context ->> \'key\', \'requestId\', context ->> \'requestId\', \'source\', context ->> \'source\', \'reason\', context ->> \'reason\') || jsonb_build_object(\'partner\', (SELECT slug FROM partners_partner WHERE id = NEW.partner_id), \'changes\', (SELECT jsonb_object_agg(name, jsonb_build_array(coalesce(nullif(before -> name, \'""\'), \'null\'), coalesce(nullif(after -> name, \'""\'), \'null\'))) FROM unnest(ARRAY[\'label\', \'expires_at\', \'revoked_at\']::text[]) AS name\n                    WHERE coalesce(nullif(before -> name, \'""\'), \'null\') IS DISTINCT FROM coalesce(nullif(after -> name, \'""\'), \'null\'))))\n          FROM (SELECT coalesce(NEW.pgh_context, \'{}\') || jsonb_strip_nulls(jsonb_build_object(\'staff\', NULL::text))\n                    AS context) AS given\n         WHERE true\n    ;\n            RETURN NULL;\n        ', hash='84f2445943b5b0b1c2d1aa411269174a209a67d2', operation='INSERT', pgid='pgtrigger_audit_57ff2', table='partners_apikeyevent', when='AFTER'))],
        ),
        AddTriggers(
            model_name='webhookendpoint',
            triggers=[pgtrigger.compiler.Trigger(name='history_goes', sql=core.database.triggers.PermanentTriggerSql(func='DELETE FROM partners_webhookendpointevent WHERE pgh_obj_id = OLD.id; RETURN NULL;', hash='0a4ffe027f20532e5281aa0d1262c1ff56220deb', operation='DELETE', pgid='pgtrigger_history_goes_8641a', table='partners_webhookendpoint', when='AFTER')), pgtrigger.compiler.Trigger(name='insert_insert', sql=core.database.triggers.PermanentTriggerSql(func='INSERT INTO "partners_webhookendpointevent" ("description", "disabled_reason", "partner_id", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "removed_at", "types", "url") VALUES (NEW."description", NEW."disabled_reason", NEW."partner_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'insert\', NEW."id", NEW."removed_at", NEW."types", NEW."url"); RETURN NULL;', hash='b43bd031790acb58500efc70e99abb7550192fd5', operation='INSERT', pgid='pgtrigger_insert_insert_acdf6', table='partners_webhookendpoint', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (OLD."description" IS DISTINCT FROM (NEW."description") OR OLD."disabled_reason" IS DISTINCT FROM (NEW."disabled_reason") OR OLD."partner_id" IS DISTINCT FROM (NEW."partner_id") OR OLD."removed_at" IS DISTINCT FROM (NEW."removed_at") OR OLD."types" IS DISTINCT FROM (NEW."types") OR OLD."url" IS DISTINCT FROM (NEW."url"))', func='INSERT INTO "partners_webhookendpointevent" ("description", "disabled_reason", "partner_id", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "removed_at", "types", "url") VALUES (NEW."description", NEW."disabled_reason", NEW."partner_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'update\', NEW."id", NEW."removed_at", NEW."types", NEW."url"); RETURN NULL;', hash='9427cf50ded51b3893a710d1296c9c6712cd4176', operation='UPDATE', pgid='pgtrigger_update_update_b9594', table='partners_webhookendpoint', when='AFTER'))],
        ),
        AddTriggers(
            model_name='webhookendpointevent',
            triggers=[pgtrigger.compiler.Trigger(name='no_update', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='171fd882c84add74510d43c5ce7e11d204ce968b', operation='UPDATE', pgid='pgtrigger_no_update_4617a', table='partners_webhookendpointevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    IF NOT EXISTS (SELECT FROM partners_webhookendpoint WHERE id = OLD.pgh_obj_id) THEN RETURN OLD; END IF; RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='630a53b86d3fa85b7f922bedb71ba981f644f377', operation='DELETE', pgid='pgtrigger_no_delete_d1f20', table='partners_webhookendpointevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='14312cd97e56839e7039227af86579e32261881b', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_27d9d', table='partners_webhookendpointevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='audit', sql=core.database.triggers.PermanentTriggerSql(declare='DECLARE before jsonb; after jsonb;', func='\n            IF NEW.pgh_label = \'delete\' THEN\n                before := to_jsonb(NEW);\n            ELSE\n                after := to_jsonb(NEW);\n                SELECT to_jsonb(earlier) INTO before FROM partners_webhookendpointevent AS earlier\n                 WHERE pgh_obj_id = NEW.pgh_obj_id AND pgh_id < NEW.pgh_id ORDER BY pgh_id DESC LIMIT 1;\n            END IF;\n            \n        INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> \'staff\', context ->> \'by\', context ->> \'operator\', context ->> \'partner\', \'\'), CASE WHEN context ? \'staff\' THEN \'staff\' WHEN context ? \'by\' THEN \'staff\' WHEN context ? \'operator\' THEN \'operator\' WHEN context ? \'partner\' THEN \'partner\' ELSE \'\' END, \'webhook.\' || CASE NEW.pgh_label WHEN \'insert\' THEN \'created\' WHEN \'update\' THEN \'changed\' ELSE \'removed\' END, NEW.pgh_obj_id::text,\n               jsonb_strip_nulls(jsonb_build_object(\'operator\', context ->> \'operator\', \'command\', context ->> \'command\', \'key\', context ->> \'key\', \'requestId\', context ->> \'requestId\', \'source\', context ->> \'source\', \'reason\', context ->> \'reason\') || jsonb_build_object(\'partner\', (SELECT slug FROM partners_partner WHERE id = NEW.partner_id), \'changes\', (SELECT jsonb_object_agg(name, CASE WHEN name IN (\'url\') THEN \'["…", "…"]\' ELSE jsonb_build_array(coalesce(nullif(before -> name, \'""\'), \'null\'), coalesce(nullif(after -> name, \'""\'), \'null\')) END) FROM unnest(ARRAY[\'url\', \'types\', \'description\', \'disabled_reason\', \'removed_at\']::text[]) AS name\n                    WHERE coalesce(nullif(before -> name, \'""\'), \'null\') IS DISTINCT FROM coalesce(nullif(after -> name, \'""\'), \'null\'))))\n          FROM (SELECT coalesce(NEW.pgh_context, \'{}\') || jsonb_strip_nulls(jsonb_build_object(\'staff\', NULL::text))\n                    AS context) AS given\n         WHERE true\n    ;\n            RETURN NULL;\n        ', hash='df144c7ed5d7ddd365fdcbdc33a1384b7787867a', operation='INSERT', pgid='pgtrigger_audit_39436', table='partners_webhookendpointevent', when='AFTER'))],
        ),
        AddTriggers(
            model_name='webhooksecret',
            triggers=[pgtrigger.compiler.Trigger(name='history_goes', sql=core.database.triggers.PermanentTriggerSql(func='DELETE FROM partners_webhooksecretevent WHERE pgh_obj_id = OLD.id; RETURN NULL;', hash='7567850d4c2e0cff2bedc36db8491673af10f69f', operation='DELETE', pgid='pgtrigger_history_goes_a1982', table='partners_webhooksecret', when='AFTER')), pgtrigger.compiler.Trigger(name='insert_insert', sql=core.database.triggers.PermanentTriggerSql(func='INSERT INTO "partners_webhooksecretevent" ("endpoint_id", "expires_at", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id") VALUES (NEW."endpoint_id", NEW."expires_at", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'insert\', NEW."id"); RETURN NULL;', hash='8f81ad2f9e29ebd953987d7fdc1024ffc2044e41', operation='INSERT', pgid='pgtrigger_insert_insert_563c4', table='partners_webhooksecret', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (OLD."endpoint_id" IS DISTINCT FROM (NEW."endpoint_id") OR OLD."expires_at" IS DISTINCT FROM (NEW."expires_at"))', func='INSERT INTO "partners_webhooksecretevent" ("endpoint_id", "expires_at", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id") VALUES (NEW."endpoint_id", NEW."expires_at", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'update\', NEW."id"); RETURN NULL;', hash='b85b94a4ba147bbaaf6c105609c57c58bd9f7ca7', operation='UPDATE', pgid='pgtrigger_update_update_7190e', table='partners_webhooksecret', when='AFTER'))],
        ),
        AddTriggers(
            model_name='webhooksecretevent',
            triggers=[pgtrigger.compiler.Trigger(name='no_update', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='de8e8925f05292755fd3d9c8ad63b4f0a512e6f6', operation='UPDATE', pgid='pgtrigger_no_update_a69b9', table='partners_webhooksecretevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    IF NOT EXISTS (SELECT FROM partners_webhooksecret WHERE id = OLD.pgh_obj_id) THEN RETURN OLD; END IF; RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='090e8979b4846f685b7baf97b0bd82a4eb39473e', operation='DELETE', pgid='pgtrigger_no_delete_4b08a', table='partners_webhooksecretevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='9b6a940c89b319cc09f9b2c81920cbaaa1be7180', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_29b9c', table='partners_webhooksecretevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='audit', sql=core.database.triggers.PermanentTriggerSql(declare='DECLARE before jsonb; after jsonb;', func='\n            IF NEW.pgh_label = \'delete\' THEN\n                before := to_jsonb(NEW);\n            ELSE\n                after := to_jsonb(NEW);\n                SELECT to_jsonb(earlier) INTO before FROM partners_webhooksecretevent AS earlier\n                 WHERE pgh_obj_id = NEW.pgh_obj_id AND pgh_id < NEW.pgh_id ORDER BY pgh_id DESC LIMIT 1;\n            END IF;\n            \n        INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> \'staff\', context ->> \'by\', context ->> \'operator\', context ->> \'partner\', \'\'), CASE WHEN context ? \'staff\' THEN \'staff\' WHEN context ? \'by\' THEN \'staff\' WHEN context ? \'operator\' THEN \'operator\' WHEN context ? \'partner\' THEN \'partner\' ELSE \'\' END, \'webhookSecret.\' || CASE NEW.pgh_label WHEN \'insert\' THEN \'created\' WHEN \'update\' THEN \'changed\' ELSE \'removed\' END, NEW.endpoint_id::text,\n               jsonb_strip_nulls(jsonb_build_object(\'operator\', context ->> \'operator\', \'command\', context ->> \'command\', \'key\', context ->> \'key\', \'requestId\', context ->> \'requestId\', \'source\', context ->> \'source\', \'reason\', context ->> \'reason\') || jsonb_build_object(\'changes\', (SELECT jsonb_object_agg(name, jsonb_build_array(coalesce(nullif(before -> name, \'""\'), \'null\'), coalesce(nullif(after -> name, \'""\'), \'null\'))) FROM unnest(ARRAY[\'expires_at\']::text[]) AS name\n                    WHERE coalesce(nullif(before -> name, \'""\'), \'null\') IS DISTINCT FROM coalesce(nullif(after -> name, \'""\'), \'null\'))))\n          FROM (SELECT coalesce(NEW.pgh_context, \'{}\') || jsonb_strip_nulls(jsonb_build_object(\'staff\', NULL::text))\n                    AS context) AS given\n         WHERE true\n    ;\n            RETURN NULL;\n        ', hash='fd3245e651ad5706d090b95579792219d0b17c8a', operation='INSERT', pgid='pgtrigger_audit_faba7', table='partners_webhooksecretevent', when='AFTER'))],
        ),
        # Written by hand.
        migrations.RunSQL(['-- One of the two ways to change a feed: the serving role may execute them, and has no rights on the tables but SELECT\n-- (partners/models/events.py). Called by partners/events/relay.py.\n--\n-- Makes events of a partner\'s entries of the outbox, at the next positions of its feed. Entries without `data` become\n-- one event for each user and transaction: the caller names all of a transaction. While another session does this for\n-- the partner, nothing is placed. A failure undoes all but the mark that the feed is stopped, and is returned: its\n-- SQLSTATE, and the constraint.\n--\n-- The lock ends with the one statement that calls it, whatever becomes of the caller. 2: the kind\n-- of these locks; 1 are those of idempotency keys (partners/api/idempotency.py).\nCREATE OR REPLACE FUNCTION partners_place_events(partner bigint, entries bigint[], OUT placed bigint, OUT failure text)\nLANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$\nDECLARE\n    wire_time CONSTANT text := \'YYYY-MM-DD"T"HH24:MI:SS.US"Z"\';\n    violated text;\nBEGIN\n    placed := 0;\n    IF NOT pg_try_advisory_xact_lock(2, hashint8(partner)) THEN\n        RETURN;\n    END IF;\n    -- A statement of its own, whose snapshot shows what the holder before has placed.\n    WITH taken AS (\n        DELETE FROM partners_outboxentry WHERE partner_id = partner AND id = ANY(entries) RETURNING *\n    ), of_rows AS (\n        SELECT id, type, created_at, transaction_id, transaction_time, unnest(user_ids) AS user_id,\n               unnest(external_ids) AS external_id, unnest(times) AS time\n          FROM taken WHERE data IS NULL\n    ), events AS (\n        SELECT id, user_ids[1] AS user_id, type, created_at, data FROM taken WHERE data IS NOT NULL\n         UNION ALL\n        SELECT min(id), user_id, type, min(created_at),\n               jsonb_build_object(\'externalId\', min(external_id), \'userId\', user_id, \'count\', count(*),\n                                  \'oldestCreatedAt\', to_char(min(time) AT TIME ZONE \'UTC\', wire_time),\n                                  \'newestCreatedAt\', to_char(max(time) AT TIME ZONE \'UTC\', wire_time))\n          FROM of_rows GROUP BY transaction_id, transaction_time, type, user_id\n    ), numbered AS (\n        SELECT *, row_number() OVER (ORDER BY id, user_id) AS number, count(*) OVER () AS count FROM events\n    ), feed AS (\n        INSERT INTO partners_eventfeed AS feed (partner_id, last_position)\n        SELECT partner, count(*) FROM events HAVING count(*) > 0\n            ON CONFLICT (partner_id)\n            DO UPDATE SET last_position = feed.last_position + excluded.last_position, updated_at = now(),\n                          stopped_at = NULL\n     RETURNING last_position\n    )\n    INSERT INTO partners_event (partner_id, user_id, type, created_at, data, position)\n    SELECT partner, user_id, type, created_at, data, last_position - count + number\n      FROM numbered CROSS JOIN feed ORDER BY number;\n    GET DIAGNOSTICS placed = ROW_COUNT;\nEXCEPTION WHEN OTHERS THEN\n    GET STACKED DIAGNOSTICS violated = CONSTRAINT_NAME;\n    placed := 0;\n    failure := rtrim(SQLSTATE || \' \' || violated);\n    INSERT INTO partners_eventfeed AS feed (partner_id, stopped_at) VALUES (partner, now())\n        ON CONFLICT (partner_id) DO UPDATE SET stopped_at = excluded.stopped_at WHERE feed.stopped_at IS NULL;\nEND\n$$;\nREVOKE ALL ON FUNCTION partners_place_events(bigint, bigint[]) FROM PUBLIC;\n'], migrations.RunSQL.noop),
        migrations.RunSQL(["-- The other way to change a feed, called by partners/retention.py: removes up to `batch` events from the beginning of a\n-- partner's feed, up to the first that is not older than 30 days (contract, section 10): events of transactions that\n-- overlapped may differ from the feed's order in their times. Deliveries refer to their events; the constraint is\n-- checked at the end of the transaction.\nCREATE OR REPLACE FUNCTION partners_purge_events(partner bigint, batch integer, OUT purged bigint)\nLANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$\n    WITH oldest AS (\n        SELECT event.id, event.position, event.created_at < now() - interval '30 days' AS expired\n          FROM partners_eventfeed feed\n          JOIN partners_event event ON event.partner_id = feed.partner_id AND event.position > feed.purged_position\n         WHERE feed.partner_id = partner\n         ORDER BY event.position LIMIT batch\n    ), expired AS (\n        SELECT id, position FROM oldest\n         WHERE position < COALESCE((SELECT min(position) FROM oldest WHERE NOT expired), 9223372036854775807)\n    ), deliveries AS (\n        DELETE FROM partners_webhookdelivery WHERE event_id IN (SELECT id FROM expired)\n    ), feed AS (\n        UPDATE partners_eventfeed SET purged_position = (SELECT max(position) FROM expired), updated_at = now()\n         WHERE partner_id = partner AND purged_position < (SELECT max(position) FROM expired)\n    ), deleted AS (\n        DELETE FROM partners_event WHERE id IN (SELECT id FROM expired) RETURNING id\n    )\n    SELECT count(*) FROM deleted\n$$;\nREVOKE ALL ON FUNCTION partners_purge_events(bigint, integer) FROM PUBLIC;\n"], migrations.RunSQL.noop),
        *(set_storage(table, parameters) for table, parameters in STORAGE.items()),
    ]
