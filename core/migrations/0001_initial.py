import core.database.triggers
import django.db.models.fields.json
import pgtrigger.compiler
from django.db import migrations, models

from core.database.triggers import AddTriggers


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=models.Func(function='clock_timestamp'), editable=False, verbose_name='at')),
                ('actor', models.CharField(max_length=150, verbose_name='who')),
                ('actor_kind', models.CharField(blank=True, choices=[('staff', 'Staff'), ('operator', 'Operator'), ('partner', 'Partner')], max_length=10, verbose_name='kind')),
                ('action', models.CharField(max_length=60, verbose_name='what')),
                ('object', models.CharField(max_length=200, verbose_name='whom')),
                ('detail', models.JSONField(verbose_name='detail')),
            ],
            options={
                'verbose_name': 'audit log entry',
                'verbose_name_plural': 'audit log',
                'ordering': ('-at', '-id'),
                'default_permissions': ('view',),
                'indexes': [models.Index(fields=['at', 'id'], name='audit_by_time'), models.Index(fields=['actor', 'at', 'id'], name='audit_of_actor'), models.Index(fields=['object', 'at', 'id'], name='audit_of_object'), models.Index(fields=['action', 'at', 'id'], name='audit_of_action'), models.Index(django.db.models.fields.json.KeyTextTransform('externalId', 'detail'), models.F('at'), models.F('id'), name='audit_of_external_id')],
                'constraints': [models.CheckConstraint(condition=models.Q(('actor_kind__in', ('', 'staff', 'operator', 'partner'))), name='audit_actor_kind_known'), models.CheckConstraint(condition=models.Q(('detail__isnull', True), models.Func('detail', output_field=models.BooleanField(), template='coalesce(jsonb_path_match(%(expressions)s, \'$.type() == "object" && (!exists($.changes) || $.changes.type() == "object" && !exists($.changes.keyvalue() ? (!(@.value.type() == "array" && @.value.size() == 2)))) && !exists($.**{8 to last}) && !exists($.** ? (@.type() == "number" && (@ > 1e12 || @ < -1e12)))\', silent => true), false)'), _connector='OR'), name='audit_detail_readable')],
            },
        ),
        AddTriggers(
            model_name='auditentry',
            triggers=[pgtrigger.compiler.Trigger(name='of_somebody', sql=core.database.triggers.PermanentTriggerSql(func="\n                    IF (NEW.actor_kind IN ('', 'staff') AND NEW.actor <> '')\n                        AND (NEW.actor_kind = 'staff') <> is_staff(NEW.actor)\n                        OR NEW.actor_kind = 'partner' AND mode_of_partner(NEW.actor) IS NULL\n                        OR NEW.actor_kind <> '' AND NEW.actor = '' THEN\n                        RAISE EXCEPTION 'An act is of an account or a partner that exists.' USING ERRCODE = 'integrity_constraint_violation';\n                    END IF;\n                 RETURN NEW;", hash='be9d0ab33a182eda8005f3829debc0a5e44b1ed5', operation='INSERT', pgid='pgtrigger_of_somebody_33e79', table='core_auditentry', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_update', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND is_erasing() AND to_jsonb(OLD) - 'detail' = to_jsonb(NEW) - 'detail' THEN RETURN NEW; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='5e89413f27e573660b9f76b9b9b0f0b6d31addbd', operation='UPDATE', pgid='pgtrigger_no_update_ff7f1', table='core_auditentry', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND is_erasing() THEN RETURN OLD; END IF;\n    IF \n                    OLD.actor_kind = 'partner' AND OLD.at < now() - interval '90 days'\n                        AND mode_of_partner(OLD.actor) = 'sandbox'\n                 THEN RETURN OLD; END IF; RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='48db2f650e0a3564b3df23500cf3296b6a9a787a', operation='DELETE', pgid='pgtrigger_no_delete_53381', table='core_auditentry', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='9b43cb428cfddabc0c2c1bf9d6b69c952fe8b507', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_5e0a6', table='core_auditentry', when='BEFORE'))],
        ),
    ]
