import django.contrib.postgres.fields
import partners.db.triggers
import pgtrigger.compiler
import pgtrigger.migrations
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('partners', '0006_failing_days'),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name='apikeyevent',
            name='no_delete',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='auditentry',
            name='no_delete',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='partnerevent',
            name='no_delete',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='webhookendpointevent',
            name='no_delete',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='webhooksecretevent',
            name='no_delete',
        ),
        migrations.RemoveConstraint(
            model_name='event',
            name='event_type_known',
        ),
        migrations.RemoveConstraint(
            model_name='outboxentry',
            name='outbox_type_known',
        ),
        migrations.AddField(
            model_name='usedsignature',
            name='path',
            field=models.TextField(db_default=''),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='apikeyevent',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='4c913fb109ab703ad0cdf0ccffe35d1e74baf0ad', operation='DELETE', pgid='pgtrigger_no_delete_be146', table='partners_apikeyevent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='auditentry',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='cfa6e42a14f371a4adebb3579205f217d962dc0a', operation='DELETE', pgid='pgtrigger_no_delete_f1f47', table='partners_auditentry', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='partnerevent',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='8e9589a77b603321fd557cc423e37c577b5bab35', operation='DELETE', pgid='pgtrigger_no_delete_868eb', table='partners_partnerevent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='webhookendpointevent',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='b3a02709a4ed271d5669c403e1749633ce059a2f', operation='DELETE', pgid='pgtrigger_no_delete_d1f20', table='partners_webhookendpointevent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='webhooksecretevent',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='d373fbd181abbf9e6ff46e6857414bd38ad41084', operation='DELETE', pgid='pgtrigger_no_delete_4b08a', table='partners_webhooksecretevent', when='BEFORE')),
        ),
        AddConstraintNotValid(
            model_name='event',
            constraint=models.CheckConstraint(condition=models.Q(('type__in', ['user.statusChanged', 'user.requirementsChanged', 'user.erased', 'user.transactionsRecorded', 'user.documentPublished', 'user.documentWithdrawn'])), name='event_type_known'),
        ),
        AddConstraintNotValid(
            model_name='outboxentry',
            constraint=models.CheckConstraint(condition=models.Q(('type__in', ['user.statusChanged', 'user.requirementsChanged', 'user.erased', 'user.transactionsRecorded', 'user.documentPublished', 'user.documentWithdrawn'])), name='outbox_type_known'),
        ),
        # The choices are Django's alone.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name='event',
                    name='type',
                    field=models.CharField(choices=[('user.statusChanged', 'Status changed'), ('user.requirementsChanged', 'Requirements changed'), ('user.erased', 'User erased'), ('user.transactionsRecorded', 'Transactions recorded'), ('user.documentPublished', 'Document published'), ('user.documentWithdrawn', 'Document withdrawn')], max_length=40, verbose_name='type'),
                ),
                migrations.AlterField(
                    model_name='outboxentry',
                    name='type',
                    field=models.CharField(choices=[('user.statusChanged', 'Status changed'), ('user.requirementsChanged', 'Requirements changed'), ('user.erased', 'User erased'), ('user.transactionsRecorded', 'Transactions recorded'), ('user.documentPublished', 'Document published'), ('user.documentWithdrawn', 'Document withdrawn')], max_length=40),
                ),
                migrations.AlterField(
                    model_name='webhookendpoint',
                    name='types',
                    field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('user.statusChanged', 'Status changed'), ('user.requirementsChanged', 'Requirements changed'), ('user.erased', 'User erased'), ('user.transactionsRecorded', 'Transactions recorded'), ('user.documentPublished', 'Document published'), ('user.documentWithdrawn', 'Document withdrawn')], max_length=40), blank=True, default=list, help_text='Without any: all.', size=None, verbose_name='types'),
                ),
                migrations.AlterField(
                    model_name='webhookendpointevent',
                    name='types',
                    field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('user.statusChanged', 'Status changed'), ('user.requirementsChanged', 'Requirements changed'), ('user.erased', 'User erased'), ('user.transactionsRecorded', 'Transactions recorded'), ('user.documentPublished', 'Document published'), ('user.documentWithdrawn', 'Document withdrawn')], max_length=40), blank=True, default=list, help_text='Without any: all.', size=None, verbose_name='types'),
                ),
            ],
        ),
    ]
