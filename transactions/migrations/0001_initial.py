import core.database.triggers
import datetime
import django.db.models.deletion
import django.db.models.functions.datetime
import pgtrigger.compiler
import transactions.models
import uuid
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models

from core.database.operations import AddTriggers, set_storage

STORAGE = {
    "transactions_conversion": {
        "autovacuum_vacuum_insert_scale_factor": 0.01,
        "autovacuum_analyze_scale_factor": 0.01,
    },
}


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('partners', '0001_initial'),
        ('staff', '0001_initial'),
        ('users', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Conversion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('partner', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='partners.partner', verbose_name='partner')),
                ('user', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='%(class)ss', to='users.user', verbose_name='user')),
                ('is_sandbox', models.BooleanField(db_default=False, editable=False, verbose_name='sandbox')),
                ('tiebreak', models.BigIntegerField(db_default=models.Func(output_field=models.BigIntegerField(), template='(random() * 9223372036854775000)::bigint'))),
                ('recorded_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='recorded at')),
                ('conversion_id', models.CharField(max_length=64, verbose_name='conversion ID')),
                ('created_at', models.DateTimeField(help_text='When the conversion was made.', verbose_name='created at')),
                ('type', models.CharField(db_default='conversion', max_length=20, verbose_name='type')),
                ('from_currency', models.CharField(max_length=10, verbose_name='from currency')),
                ('from_amount', transactions.models.NumericField(verbose_name='from amount')),
                ('to_currency', models.CharField(max_length=10, verbose_name='to currency')),
                ('to_amount', transactions.models.NumericField(verbose_name='to amount')),
                ('rate', transactions.models.NumericField(verbose_name='rate')),
                ('while_inactive', models.BooleanField(db_default=False, editable=False, verbose_name='recorded while the user was not active')),
                ('reaches_threshold', models.BooleanField(db_default=False, editable=False, verbose_name='10,000 CAD within 24 hours')),
            ],
            options={
                'verbose_name': 'conversion',
                'verbose_name_plural': 'conversions',
                'indexes': [models.Index(condition=models.Q(('is_sandbox', False)), fields=['created_at', 'id'], name='conversion_live'), models.Index(condition=models.Q(('is_sandbox', True)), fields=['created_at', 'id'], name='conversion_sandbox'), models.Index(fields=['is_sandbox', 'from_currency', 'from_amount'], name='conversion_from_amount'), models.Index(fields=['is_sandbox', 'to_currency', 'to_amount'], name='conversion_to_amount'), models.Index(condition=models.Q(('while_inactive', True)), fields=['user', 'recorded_at'], name='conversion_while_inactive'), models.Index(condition=models.Q(('reaches_threshold', True)), fields=['user', 'created_at'], name='conversion_threshold'), models.Index(condition=models.Q(('reaches_threshold', True)), fields=['is_sandbox', 'created_at', 'id'], name='conversion_threshold_listed')],
                'constraints': [models.UniqueConstraint(fields=('user', 'created_at', 'tiebreak'), name='conversion_page'), models.CheckConstraint(condition=models.Q(('tiebreak__gte', 0)), name='conversion_tiebreak_positive'), models.CheckConstraint(condition=models.Q(('created_at__gte', datetime.datetime(1, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)), ('created_at__lt', datetime.datetime(9999, 12, 31, 0, 0, tzinfo=datetime.timezone.utc))), name='conversion_created_at_written'), models.UniqueConstraint(fields=('partner', 'conversion_id'), name='conversion_partner_id'), models.CheckConstraint(condition=models.Q(('conversion_id__regex', '^[A-Za-z0-9_.-]{1,64}$')), name='conversion_id_characters'), models.CheckConstraint(condition=models.Q(('type', 'conversion')), name='conversion_type_known'), models.CheckConstraint(condition=models.Q(('from_currency__regex', '^[A-Z0-9]{3,10}$'), ('to_currency__regex', '^[A-Z0-9]{3,10}$')), name='conversion_currencies'), models.CheckConstraint(condition=models.Q(('from_amount__gte', Decimal('0')), ('from_amount__lt', Decimal('100000000000000000000')), ('from_amount__scale__lte', 18), ('to_amount__gte', Decimal('0')), ('to_amount__lt', Decimal('100000000000000000000')), ('to_amount__scale__lte', 18), ('rate__gt', Decimal('0')), ('rate__lt', Decimal('100000000000000000000')), ('rate__scale__lte', 18)), name='conversion_numbers')],
            },
        ),
        migrations.CreateModel(
            name='Document',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('partner', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='partners.partner', verbose_name='partner')),
                ('user', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='%(class)ss', to='users.user', verbose_name='user')),
                ('is_sandbox', models.BooleanField(db_default=False, editable=False, verbose_name='sandbox')),
                ('tiebreak', models.BigIntegerField(db_default=models.Func(output_field=models.BigIntegerField(), template='(random() * 9223372036854775000)::bigint'))),
                ('recorded_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='recorded at')),
                ('document_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True, verbose_name='document ID')),
                ('created_at', models.DateTimeField(help_text='When the document was issued.', verbose_name='created at')),
                ('type', models.CharField(choices=[('accountStatement', 'Account statement'), ('tradeConfirmation', 'Trade confirmation'), ('taxSlip', 'Tax slip'), ('agreement', 'Agreement')], max_length=20, verbose_name='type')),
                ('title', models.CharField(max_length=200, verbose_name='title')),
                ('content_type', models.CharField(max_length=100, verbose_name='content type')),
                ('size_bytes', models.BigIntegerField(verbose_name='size in bytes')),
                ('sha256', models.BinaryField(max_length=32, verbose_name='SHA-256')),
                ('storage_name', models.CharField(max_length=100, unique=True)),
            ],
            options={
                'verbose_name': 'document',
                'verbose_name_plural': 'documents',
                'permissions': (('download_document', 'Can download documents'),),
                'indexes': [models.Index(condition=models.Q(('is_sandbox', False)), fields=['created_at', 'id'], name='document_live'), models.Index(condition=models.Q(('is_sandbox', True)), fields=['created_at', 'id'], name='document_sandbox')],
                'constraints': [models.UniqueConstraint(fields=('user', 'created_at', 'tiebreak'), name='document_page'), models.CheckConstraint(condition=models.Q(('tiebreak__gte', 0)), name='document_tiebreak_positive'), models.CheckConstraint(condition=models.Q(('created_at__gte', datetime.datetime(1, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)), ('created_at__lt', datetime.datetime(9999, 12, 31, 0, 0, tzinfo=datetime.timezone.utc))), name='document_created_at_written'), models.CheckConstraint(condition=models.Q(('type__in', ['accountStatement', 'tradeConfirmation', 'taxSlip', 'agreement'])), name='document_type_known'), models.CheckConstraint(condition=models.Q(('title__regex', '^[^\\u0001-\\u001F\\u007F-\\u009F]+$')), name='document_title_readable'), models.CheckConstraint(condition=models.Q(('content_type__regex', '^[a-z0-9.+-]+/[a-z0-9.+-]+$')), name='document_content_type_form'), models.CheckConstraint(condition=models.Q(('size_bytes__gte', 1)), name='document_not_empty'), models.CheckConstraint(condition=models.Q(('sha256__length', 32)), name='document_sha256_length')],
            },
        ),
        migrations.CreateModel(
            name='ErasedFile',
            fields=[
                ('storage_name', models.CharField(max_length=100, primary_key=True, serialize=False)),
            ],
        ),
        migrations.CreateModel(
            name='DocumentWithdrawal',
            fields=[
                ('document', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='withdrawal', serialize=False, to='transactions.document', verbose_name='document')),
                ('by', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='by')),
                ('reason', models.CharField(max_length=2000, verbose_name='reason')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='withdrawn at')),
            ],
            options={
                'verbose_name': 'withdrawal',
                'verbose_name_plural': 'withdrawals',
                'constraints': [models.CheckConstraint(condition=models.Q(('reason__regex', '\\S')), name='withdrawal_reason_given')],
            },
        ),
        AddTriggers(
            model_name='conversion',
            triggers=[pgtrigger.compiler.Trigger(name='no_update', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND NEW.reaches_threshold AND to_jsonb(OLD) - 'reaches_threshold' = to_jsonb(NEW) - 'reaches_threshold' THEN\n        RETURN NEW;\n    END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='e5a51e27ce4aa92d3fe91944fa402cc7ae834f91', operation='UPDATE', pgid='pgtrigger_no_update_f9a3a', table='transactions_conversion', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND is_erasing() THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='4fb02fe0ee1b63fa6e506912b9f46096e96d4f62', operation='DELETE', pgid='pgtrigger_no_delete_272c3', table='transactions_conversion', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='e7c0bf631517ecafb61c435889b77eaa4813ee9e', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_0bc24', table='transactions_conversion', when='BEFORE')), pgtrigger.compiler.Trigger(name='threshold', sql=core.database.triggers.FunctionTriggerSql(execute="transactions_mark_threshold('CAD', '10000', '10000')", func="CREATE OR REPLACE FUNCTION transactions_mark_threshold() RETURNS trigger\nLANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$\nBEGIN\n    -- Arguments: the currency, the amount, and how many conversions of a sandbox user are added up at a time: sandbox\n    -- partners make as many as they like.\n    -- Two imports at once would not see each other's rows: from here to the commit those of a partner take turns.\n    PERFORM pg_advisory_xact_lock(4, hashint8(partner_id))\n       FROM (SELECT DISTINCT partner_id FROM inserted WHERE TG_ARGV[0] IN (from_currency, to_currency) ORDER BY 1) AS each;\n    UPDATE transactions_conversion marked SET reaches_threshold = true\n      FROM (SELECT user_id, is_sandbox, min(created_at) AS oldest, max(created_at) AS newest\n              FROM inserted WHERE TG_ARGV[0] IN (from_currency, to_currency) GROUP BY user_id, is_sandbox) AS changed\n     CROSS JOIN LATERAL (\n           SELECT id, reaches_threshold AS is_marked,\n                  sum(CASE WHEN from_currency = TG_ARGV[0] THEN from_amount ELSE to_amount END) OVER (\n                      ORDER BY created_at DESC RANGE BETWEEN CURRENT ROW AND interval '24 hours' FOLLOWING) AS total\n             FROM (SELECT * FROM transactions_conversion\n                    WHERE user_id = changed.user_id AND TG_ARGV[0] IN (from_currency, to_currency)\n                      AND created_at BETWEEN changed.oldest - interval '24 hours' AND changed.newest + interval '24 hours'\n                    ORDER BY created_at DESC\n                    LIMIT CASE WHEN changed.is_sandbox THEN TG_ARGV[2]::integer END) AS near) AS added\n     WHERE marked.id = added.id AND added.total >= TG_ARGV[1]::numeric AND NOT added.is_marked;\n    RETURN NULL;\nEND\n$$;\nREVOKE ALL ON FUNCTION transactions_mark_threshold FROM PUBLIC;\n", hash='aa7f3308e92a042b25abe344ac76b1785f90754c', level='STATEMENT', operation='INSERT', pgid='pgtrigger_threshold_922f1', referencing='REFERENCING NEW TABLE AS inserted ', table='transactions_conversion', when='AFTER')), pgtrigger.compiler.Trigger(name='event', sql=core.database.triggers.PermanentTriggerSql(func="\n        INSERT INTO events_outboxentry (partner_id, type, user_ids, external_ids, times, size)\n        SELECT partner_id, 'user.transactionsRecorded', array_agg(user_id), array_agg((SELECT u.external_id FROM users_user u WHERE u.id = user_id)), array_agg(created_at), count(*)\n          FROM inserted GROUP BY partner_id\n    ; RETURN NULL;", hash='b90ddc47f67eb3e77e29442adf550ecee445fe02', level='STATEMENT', operation='INSERT', pgid='pgtrigger_event_b1be0', referencing='REFERENCING NEW TABLE AS inserted ', table='transactions_conversion', when='AFTER'))],
        ),
        AddTriggers(
            model_name='document',
            triggers=[pgtrigger.compiler.Trigger(name='no_update', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='45b92e08c1190217205dc341c148160c167f96c0', operation='UPDATE', pgid='pgtrigger_no_update_80b6b', table='transactions_document', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND is_erasing() THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='7bbb6ad29d64448e862063a9f3b22d5836ae198f', operation='DELETE', pgid='pgtrigger_no_delete_f3e6e', table='transactions_document', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='b9518eda59ec65dba17de36ffcc4e317bbbfb824', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_55c40', table='transactions_document', when='BEFORE')), pgtrigger.compiler.Trigger(name='time', sql=core.database.triggers.PermanentTriggerSql(func='NEW.recorded_at := clock_timestamp(); RETURN NEW;', hash='fb5aefb47fd31e0dd317dde980dd348df76fb3e4', operation='INSERT', pgid='pgtrigger_time_22db8', table='transactions_document', when='BEFORE')), pgtrigger.compiler.Trigger(name='event', sql=core.database.triggers.PermanentTriggerSql(func='\n        INSERT INTO events_outboxentry (partner_id, type, user_ids, data)\n        SELECT u.partner_id, \'user.documentPublished\', ARRAY[u.id], jsonb_build_object(\'externalId\', u.external_id, \'userId\', u.id, \'documentId\', NEW.document_id, \'type\', NEW.type, \'createdAt\', to_char(NEW.created_at AT TIME ZONE \'UTC\', \'YYYY-MM-DD"T"HH24:MI:SS.US"Z"\')) FROM users_user u WHERE u.id = NEW.user_id\n    ; RETURN NULL;', hash='201c8e07ccbbca31476f66258dff7e153002b9d6', operation='INSERT', pgid='pgtrigger_event_69304', table='transactions_document', when='AFTER')), pgtrigger.compiler.Trigger(name='file_goes', sql=core.database.triggers.PermanentTriggerSql(func='INSERT INTO transactions_erasedfile (storage_name) VALUES (OLD.storage_name); RETURN NULL;', hash='a310d4e99076bc76fbf91558131989fe762c90af', operation='DELETE', pgid='pgtrigger_file_goes_1553d', table='transactions_document', when='AFTER')), pgtrigger.compiler.Trigger(name='audit', sql=core.database.triggers.PermanentTriggerSql(func="\n        INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> 'staff', context ->> 'by', context ->> 'operator', context ->> 'partner', ''), CASE WHEN context ? 'staff' THEN 'staff' WHEN context ? 'by' THEN 'staff' WHEN context ? 'operator' THEN 'operator' WHEN context ? 'partner' THEN 'partner' ELSE '' END, 'document.published', NEW.document_id::text,\n               jsonb_strip_nulls(jsonb_build_object('operator', context ->> 'operator', 'command', context ->> 'command', 'key', context ->> 'key', 'requestId', context ->> 'requestId', 'source', context ->> 'source', 'reason', context ->> 'reason') || jsonb_build_object('user', NEW.user_id, 'type', NEW.type, 'title', NEW.title) || coalesce((\n        SELECT jsonb_build_object('partner', p.slug, 'externalId', u.external_id)\n          FROM users_user u JOIN partners_partner p ON p.id = u.partner_id WHERE u.id = NEW.user_id), '{}'))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}'), '{}') || jsonb_strip_nulls(jsonb_build_object('staff', NULL::text))\n                    AS context) AS given\n         WHERE NOT context ? 'partner'\n    ; RETURN NULL;", hash='db48a4a27f5851af22046303ea0a243f4a2bb3cb', operation='INSERT', pgid='pgtrigger_audit_e8d49', table='transactions_document', when='AFTER'))],
        ),
        AddTriggers(
            model_name='documentwithdrawal',
            triggers=[pgtrigger.compiler.Trigger(name='no_update', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='4e6dfab9c12b39e617e03f230aff7358f562992d', operation='UPDATE', pgid='pgtrigger_no_update_d5b67', table='transactions_documentwithdrawal', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND is_erasing() THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='ee93ecd209f66bb8de0056a4fb2211d4f22857e6', operation='DELETE', pgid='pgtrigger_no_delete_65ca6', table='transactions_documentwithdrawal', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='8a72af57c0ba56dc7a8e50c0fa2a3f5d1897f9b6', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_32b69', table='transactions_documentwithdrawal', when='BEFORE')), pgtrigger.compiler.Trigger(name='time', sql=core.database.triggers.PermanentTriggerSql(func='NEW.created_at := clock_timestamp(); RETURN NEW;', hash='a9e5638979930c3b4a79f2416d0932ea7ff332f3', operation='INSERT', pgid='pgtrigger_time_6d0f8', table='transactions_documentwithdrawal', when='BEFORE')), pgtrigger.compiler.Trigger(name='by_active_staff', sql=core.database.triggers.PermanentTriggerSql(func="\n            IF NOT EXISTS (SELECT FROM staff_staff s WHERE s.id = NEW.by_id AND s.is_active) THEN\n                RAISE EXCEPTION 'An active staff account does this.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='130f262c7886652896d37e18935ed7856bbd2430', operation='INSERT', pgid='pgtrigger_by_active_staff_cc3fb', table='transactions_documentwithdrawal', when='BEFORE')), pgtrigger.compiler.Trigger(name='event', sql=core.database.triggers.PermanentTriggerSql(func="\n        INSERT INTO events_outboxentry (partner_id, type, user_ids, data)\n        SELECT u.partner_id, 'user.documentWithdrawn', ARRAY[u.id], jsonb_build_object('externalId', u.external_id, 'userId', u.id, 'documentId', d.document_id) FROM transactions_document d JOIN users_user u ON u.id = d.user_id WHERE d.id = NEW.document_id\n    ; RETURN NULL;", hash='cdc56934061ec10c992c544e9a52732dab325529', operation='INSERT', pgid='pgtrigger_event_5c81f', table='transactions_documentwithdrawal', when='AFTER')), pgtrigger.compiler.Trigger(name='audit', sql=core.database.triggers.PermanentTriggerSql(func="\n        INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> 'staff', context ->> 'by', context ->> 'operator', context ->> 'partner', ''), CASE WHEN context ? 'staff' THEN 'staff' WHEN context ? 'by' THEN 'staff' WHEN context ? 'operator' THEN 'operator' WHEN context ? 'partner' THEN 'partner' ELSE '' END, 'document.withdrawn', (SELECT document_id::text FROM transactions_document WHERE id = NEW.document_id),\n               jsonb_strip_nulls(jsonb_build_object('operator', context ->> 'operator', 'command', context ->> 'command', 'key', context ->> 'key', 'requestId', context ->> 'requestId', 'source', context ->> 'source', 'reason', context ->> 'reason') || jsonb_build_object('reason', NEW.reason) || coalesce((\n        SELECT jsonb_build_object('partner', p.slug, 'externalId', u.external_id)\n          FROM users_user u JOIN partners_partner p ON p.id = u.partner_id WHERE u.id = (SELECT user_id FROM transactions_document WHERE id = NEW.document_id)), '{}'))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}'), '{}') || jsonb_strip_nulls(jsonb_build_object('staff', (SELECT username FROM staff_staff WHERE id = NEW.by_id)))\n                    AS context) AS given\n         WHERE true\n    ; RETURN NULL;", hash='6a1a61c38baa45104e7077a36a2b6dbdb2d40c3a', operation='INSERT', pgid='pgtrigger_audit_93f6f', table='transactions_documentwithdrawal', when='AFTER'))],
        ),
        # Written by hand: Django has no foreign key of two columns.
        migrations.RunSQL(
            """
            ALTER TABLE transactions_conversion ADD CONSTRAINT conversion_user_of_partner
            FOREIGN KEY (user_id, partner_id, is_sandbox) REFERENCES users_user (id, partner_id, is_sandbox)
            """,
            "ALTER TABLE transactions_conversion DROP CONSTRAINT conversion_user_of_partner",
        ),
        migrations.RunSQL(
            """
            ALTER TABLE transactions_document ADD CONSTRAINT document_user_of_partner
            FOREIGN KEY (user_id, partner_id, is_sandbox) REFERENCES users_user (id, partner_id, is_sandbox)
            """,
            "ALTER TABLE transactions_document DROP CONSTRAINT document_user_of_partner",
        ),
        # Written by hand.
        *(set_storage(table, parameters) for table, parameters in STORAGE.items()),
    ]
