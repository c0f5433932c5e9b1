import django.db.models.deletion
import django.db.models.functions.datetime
import partners.db.triggers
import pgtrigger.compiler
import pgtrigger.migrations
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('partners', '0007_records_end'),
        ('users', '0006_proposal_ended_by_somebody'),
    ]

    operations = [
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('user_id', models.UUIDField(primary_key=True, serialize=False, verbose_name='userId')),
                ('years', models.PositiveSmallIntegerField(verbose_name='years kept')),
                ('due_at', models.DateTimeField(editable=False, null=True, verbose_name='due since')),
                ('erased_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='erased at')),
                ('rows', models.JSONField(db_default=models.Value({}, models.JSONField()), editable=False, verbose_name='rows')),
            ],
            options={
                'verbose_name': 'erased user',
                'verbose_name_plural': 'erased users',
                'permissions': (('view_due_for_erasure', 'Can see which records are due for erasure'),),
                'default_permissions': ('view',),
            },
        ),
        migrations.CreateModel(
            name='Hold',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='id')),
                ('reason', models.CharField(max_length=2000, verbose_name='reason')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'hold',
                'verbose_name_plural': 'holds',
                'default_permissions': ('view',),
            },
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='accessrecord',
            name='no_delete',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='approvalrule',
            name='no_delete',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='casenote',
            name='no_delete',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='decisionbasis',
            name='no_delete',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='proposal',
            name='no_delete',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='requirement',
            name='no_delete',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='requirementclosure',
            name='no_delete',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='requirementresponse',
            name='no_delete',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='secondfactorevent',
            name='no_delete',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='staffevent',
            name='no_delete',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='staffroleevent',
            name='no_delete',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='statuschange',
            name='no_delete',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='user',
            name='no_delete',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='userevent',
            name='no_delete',
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='accessrecord',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='0413de402d37145080a433814c26a7602c52797f', operation='DELETE', pgid='pgtrigger_no_delete_b00e9', table='users_accessrecord', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='approvalrule',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='9a376b2d695cf8be08f8591edfde5fa2a408dae0', operation='DELETE', pgid='pgtrigger_no_delete_5b5ad', table='users_approvalrule', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='casenote',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='c2d9b93beae339830bba93c89bc0130373d9f9c3', operation='DELETE', pgid='pgtrigger_no_delete_32f23', table='users_casenote', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='decisionbasis',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='75774fd91871fea24b946efceae0c5a8055fd6a7', operation='DELETE', pgid='pgtrigger_no_delete_18087', table='users_decisionbasis', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='proposal',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='b7e6aaaba46a2b9542143a003f1bdeb92a244059', operation='DELETE', pgid='pgtrigger_no_delete_513a5', table='users_proposal', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='requirement',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='2e14981973714fb1d5faa6d01e017e098a32622f', operation='DELETE', pgid='pgtrigger_no_delete_60be5', table='users_requirement', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='requirementclosure',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='2c30f6d179c95111f4c53ec1607c2e9fbaa26f76', operation='DELETE', pgid='pgtrigger_no_delete_36961', table='users_requirementclosure', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='requirementresponse',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='a4476216a457a3c56abe4246ac809c30d5198aa4', operation='DELETE', pgid='pgtrigger_no_delete_045b2', table='users_requirementresponse', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='secondfactorevent',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='ddd42870e884d980bdd3e3864c2f717854439e53', operation='DELETE', pgid='pgtrigger_no_delete_64a09', table='users_secondfactorevent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='staffevent',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='20c379ce734fbdf9517dc3f886006e8bb6b62ed6', operation='DELETE', pgid='pgtrigger_no_delete_6e629', table='users_staffevent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='staffroleevent',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='a640f7095dadfb670647634872adaa023d464690', operation='DELETE', pgid='pgtrigger_no_delete_229cf', table='users_staffroleevent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='statuschange',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='15003cc8778fb41eb490069f6d8895f265b8e42a', operation='DELETE', pgid='pgtrigger_no_delete_16ce4', table='users_statuschange', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='user',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='b98dbdede5d251d10f284f1316cda7ee6b4d68ad', operation='DELETE', pgid='pgtrigger_no_delete_85ca0', table='users_user', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='userevent',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='33a3b14ec526bc8f5f8eb13494675d560362eeec', operation='DELETE', pgid='pgtrigger_no_delete_0a212', table='users_userevent', when='BEFORE')),
        ),
        migrations.AddField(
            model_name='erasure',
            name='by',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='by'),
        ),
        migrations.AddField(
            model_name='erasure',
            name='partner',
            field=models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='partners.partner', verbose_name='partner'),
        ),
        migrations.CreateModel(
            name='HoldRelease',
            fields=[
                ('hold', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='release', serialize=False, to='users.hold', verbose_name='hold')),
                ('reason', models.CharField(max_length=2000, verbose_name='reason')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'released hold',
                'verbose_name_plural': 'released holds',
                'default_permissions': ('view',),
            },
        ),
        migrations.AddField(
            model_name='hold',
            name='by',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='by'),
        ),
        migrations.AddField(
            model_name='hold',
            name='user',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='holds', to='users.user', verbose_name='user'),
        ),
        migrations.AddIndex(
            model_name='erasure',
            index=models.Index(condition=models.Q(('rows', {})), fields=['user_id'], name='erasure_under_way'),
        ),
        migrations.AddConstraint(
            model_name='erasure',
            constraint=models.CheckConstraint(condition=models.Q(('years__gte', 5)), name='erasure_years_of_the_law'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='erasure',
            trigger=pgtrigger.compiler.Trigger(name='by_active_staff', sql=partners.db.triggers.PermanentTriggerSql(func="\n            IF NOT EXISTS (SELECT FROM users_staff s WHERE s.id = NEW.by_id AND s.is_active) THEN\n                RAISE EXCEPTION 'An active staff account does this.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='26f0a9ea550eaa156ed82c86f05674ebd095929a', operation='INSERT', pgid='pgtrigger_by_active_staff_f2676', table='users_erasure', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='erasure',
            trigger=pgtrigger.compiler.Trigger(name='is_due', sql=partners.db.triggers.PermanentTriggerSql(declare='DECLARE erased users_user%ROWTYPE;', func="\n            -- Waits for those who write about the user, and keeps others waiting.\n            SELECT * INTO erased FROM users_user WHERE id = NEW.user_id FOR UPDATE;\n            IF NOT FOUND THEN\n                RAISE EXCEPTION 'There is no such user.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            NEW.due_at := CASE WHEN erased.status IN ('rejected', 'closed') AND NOT erased.is_sandbox\n        THEN ((greatest(erased.status_since, (SELECT created_at FROM transactions_conversion WHERE user_id = erased.id ORDER BY created_at DESC LIMIT 1), (SELECT created_at FROM transactions_document WHERE user_id = erased.id ORDER BY created_at DESC LIMIT 1)) AT TIME ZONE 'UTC') + make_interval(years => NEW.years::integer)) AT TIME ZONE 'UTC' END;\n            IF NEW.due_at IS NULL OR NEW.due_at > clock_timestamp() THEN\n                RAISE EXCEPTION 'The records of this user are not due for erasure.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            IF EXISTS (\n    SELECT FROM users_hold hold WHERE hold.user_id = erased.id\n       AND NOT EXISTS (SELECT FROM users_holdrelease release WHERE release.hold_id = hold.id)) THEN\n                RAISE EXCEPTION 'The records of this user are held.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            NEW.partner_id := erased.partner_id;\n            NEW.erased_at := clock_timestamp();\n            NEW.rows := '{}';\n            RETURN NEW;\n        ", hash='91527546392f4c566d9dd120de020bd64ef0d216', operation='INSERT', pgid='pgtrigger_is_due_f6c3f', table='users_erasure', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='erasure',
            trigger=pgtrigger.compiler.Trigger(name='erases', sql=partners.db.triggers.PermanentTriggerSql(declare='DECLARE erased users_user%ROWTYPE; ids text[]; address text; deleted bigint; counted bigint; counts jsonb;', func='-- The only function that erases a user: the trigger after the insert of a row of users_erasure, which the serving role\n-- may not insert. The trigger before it has locked the user, and refused one that is not due or is held.\n--\n-- While `rows` is empty, the triggers that refuse DELETE let this function pass (partners/db/triggers.py). The row is\n-- in no other transaction then, and has its counts before the statement that inserted it ends.\n--\n-- The places in braces are filled from the register (users/models/retention_triggers.py), which also declares the\n-- variables.\nSELECT * INTO erased FROM users_user WHERE id = NEW.user_id;\nids := ARRAY(SELECT document_id::text FROM transactions_document WHERE user_id = erased.id UNION ALL SELECT id::text FROM users_hold WHERE user_id = erased.id UNION ALL SELECT id::text FROM users_proposal WHERE user_id = erased.id UNION ALL SELECT id::text FROM users_requirement WHERE user_id = erased.id UNION ALL SELECT id::text FROM users_user WHERE id = erased.id);\n-- The path as requests have it in its canonical form: each byte but the unreserved ones as %XX.\naddress := \'/v1/users/\' || (\n    SELECT string_agg(\n               CASE WHEN letter ~ \'^[A-Za-z0-9_.~/-]$\' THEN letter\n                    ELSE regexp_replace(upper(encode(convert_to(letter, \'UTF8\'), \'hex\')), \'(..)\', \'%\\1\', \'g\') END,\n               \'\' ORDER BY place)\n      FROM regexp_split_to_table(erased.external_id, \'\') WITH ORDINALITY AS letters (letter, place));\ncounts := \'{}\';\ncounted := 0;\nDELETE FROM users_decisionbasis WHERE review_id IN (SELECT id FROM users_accessrecord WHERE user_id = erased.id);\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nDELETE FROM users_decisionbasis WHERE decision_id IN (SELECT id FROM users_statuschange WHERE user_id = erased.id);\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'users_decisionbasis\', counted); END IF;\ncounted := 0;\nDELETE FROM users_requirementclosure WHERE requirement_id IN (SELECT id FROM users_requirement WHERE user_id = erased.id);\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nDELETE FROM users_requirementclosure WHERE decision_id IN (SELECT id FROM users_statuschange WHERE user_id = erased.id);\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'users_requirementclosure\', counted); END IF;\ncounted := 0;\nDELETE FROM transactions_documentwithdrawal WHERE document_id IN (SELECT id FROM transactions_document WHERE user_id = erased.id);\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'transactions_documentwithdrawal\', counted); END IF;\ncounted := 0;\nDELETE FROM users_holdrelease WHERE hold_id IN (SELECT id FROM users_hold WHERE user_id = erased.id);\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'users_holdrelease\', counted); END IF;\ncounted := 0;\nDELETE FROM users_requirementresponse WHERE requirement_id IN (SELECT id FROM users_requirement WHERE user_id = erased.id);\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'users_requirementresponse\', counted); END IF;\ncounted := 0;\nDELETE FROM users_statuschange WHERE user_id = erased.id;\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nDELETE FROM users_statuschange WHERE proposal_id IN (SELECT id FROM users_proposal WHERE user_id = erased.id);\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'users_statuschange\', counted); END IF;\ncounted := 0;\nDELETE FROM partners_webhookdelivery WHERE event_id IN (SELECT id FROM partners_event WHERE user_id = erased.id);\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'partners_webhookdelivery\', counted); END IF;\ncounted := 0;\nDELETE FROM transactions_conversion WHERE user_id = erased.id;\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'transactions_conversion\', counted); END IF;\ncounted := 0;\nDELETE FROM transactions_document WHERE user_id = erased.id;\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'transactions_document\', counted); END IF;\ncounted := 0;\nDELETE FROM users_accessrecord WHERE user_id = erased.id;\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'users_accessrecord\', counted); END IF;\ncounted := 0;\nDELETE FROM users_casenote WHERE user_id = erased.id;\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'users_casenote\', counted); END IF;\ncounted := 0;\nDELETE FROM users_claim WHERE user_id = erased.id;\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'users_claim\', counted); END IF;\ncounted := 0;\nDELETE FROM users_hold WHERE user_id = erased.id;\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'users_hold\', counted); END IF;\ncounted := 0;\nDELETE FROM users_proposal WHERE user_id = erased.id;\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'users_proposal\', counted); END IF;\ncounted := 0;\nDELETE FROM users_requirement WHERE user_id = erased.id;\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'users_requirement\', counted); END IF;\ncounted := 0;\nDELETE FROM users_userevent WHERE pgh_obj_id = erased.id;\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'users_userevent\', counted); END IF;\ncounted := 0;\nDELETE FROM django_admin_log WHERE object_id = ANY(ids);\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'django_admin_log\', counted); END IF;\ncounted := 0;\nDELETE FROM partners_auditentry WHERE object = ANY(ids);\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'partners_auditentry\', counted); END IF;\ncounted := 0;\nDELETE FROM partners_event WHERE user_id = erased.id;\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'partners_event\', counted); END IF;\ncounted := 0;\nDELETE FROM partners_idempotencyrecord WHERE partner_id = erased.partner_id AND (coalesce(location, path) = address OR starts_with(coalesce(location, path), address || \'/\'));\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'partners_idempotencyrecord\', counted); END IF;\ncounted := 0;\nDELETE FROM partners_outboxentry WHERE partner_id = erased.partner_id AND erased.id = ALL(user_ids);\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'partners_outboxentry\', counted); END IF;\ncounted := 0;\nDELETE FROM partners_usedsignature WHERE partner_id = erased.partner_id AND (path = address OR starts_with(path, address || \'/\'));\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'partners_usedsignature\', counted); END IF;\ncounted := 0;\nDELETE FROM users_user WHERE id = erased.id;\nGET DIAGNOSTICS deleted = ROW_COUNT; counted := counted + deleted;\nIF counted > 0 THEN counts := counts || jsonb_build_object(\'users_user\', counted); END IF;\n-- Entries of a statement about several users, such as an import\'s: the others keep theirs.\nUPDATE partners_outboxentry entry\n   SET (user_ids, external_ids, times, size) = (\n       SELECT array_agg(of_user), array_agg(external_id), array_agg(time), count(*)\n         FROM unnest(entry.user_ids, entry.external_ids, entry.times) AS rows (of_user, external_id, time)\n        WHERE of_user <> erased.id)\n WHERE partner_id = erased.partner_id AND erased.id = ANY(user_ids);\nUPDATE users_erasure SET rows = counts WHERE user_id = NEW.user_id;\n\n        INSERT INTO partners_outboxentry (partner_id, type, user_ids, data)\n        SELECT u.partner_id, \'user.erased\', ARRAY[u.id], jsonb_build_object(\'externalId\', u.external_id, \'userId\', u.id) FROM (SELECT erased.*) AS u\n    ;\n\n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> \'staff\', context ->> \'by\', context ->> \'operator\', context ->> \'partner\', \'\'), CASE WHEN context ? \'staff\' THEN \'staff\' WHEN context ? \'by\' THEN \'staff\' WHEN context ? \'operator\' THEN \'operator\' WHEN context ? \'partner\' THEN \'partner\' ELSE \'\' END, \'user.erased\', NEW.user_id::text,\n               jsonb_strip_nulls(jsonb_build_object(\'operator\', context ->> \'operator\', \'command\', context ->> \'command\', \'key\', context ->> \'key\', \'requestId\', context ->> \'requestId\', \'source\', context ->> \'source\', \'reason\', context ->> \'reason\') || jsonb_build_object(\'partner\', (SELECT slug FROM partners_partner WHERE id = NEW.partner_id), \'dueAt\', to_char(NEW.due_at AT TIME ZONE \'UTC\', \'YYYY-MM-DD"T"HH24:MI:SS.US"Z"\'), \'rows\', counts))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting(\'pghistory.context_metadata\', true), \'\')::jsonb, \'{}\'), \'{}\') || jsonb_strip_nulls(jsonb_build_object(\'staff\', (SELECT username FROM users_staff WHERE id = NEW.by_id)))\n                    AS context) AS given\n         WHERE true\n    ;\nRETURN NULL;\n', hash='215e202113887c9e1e1cbb0988fa3a20cdec5aa1', operation='INSERT', pgid='pgtrigger_erases_2b9d2', table='users_erasure', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='erasure',
            trigger=pgtrigger.compiler.Trigger(name='counted_once', sql=partners.db.triggers.PermanentTriggerSql(func="\n            IF OLD.rows <> '{}' OR pg_trigger_depth() < 2\n                OR to_jsonb(OLD) - 'rows' IS DISTINCT FROM to_jsonb(NEW) - 'rows' THEN\n                RAISE EXCEPTION 'What is left of a user does not change.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='6a9965d210981ef4a1a8fd5df8614519ccfa5bdf', operation='UPDATE', pgid='pgtrigger_counted_once_b9624', table='users_erasure', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='erasure',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='388ded5d4ca48ce1eb59c4f56f0d0b0039e682f2', operation='DELETE', pgid='pgtrigger_no_delete_69279', table='users_erasure', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='erasure',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='d136de62d535ff64d357574ebd3701b561bf10a4', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_42cf8', table='users_erasure', when='BEFORE')),
        ),
        migrations.AddField(
            model_name='holdrelease',
            name='by',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='by'),
        ),
        migrations.AddIndex(
            model_name='hold',
            index=models.Index(fields=['user', 'created_at'], name='hold_of_user'),
        ),
        migrations.AddConstraint(
            model_name='hold',
            constraint=models.CheckConstraint(condition=models.Q(('reason__regex', '\\S')), name='hold_reason_given'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='hold',
            trigger=pgtrigger.compiler.Trigger(name='time', sql=partners.db.triggers.PermanentTriggerSql(func='NEW.created_at := clock_timestamp(); RETURN NEW;', hash='ae8bf4d897ba684c093ca364f7aeb430102e4ecc', operation='INSERT', pgid='pgtrigger_time_ac74f', table='users_hold', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='hold',
            trigger=pgtrigger.compiler.Trigger(name='by_active_staff', sql=partners.db.triggers.PermanentTriggerSql(func="\n            IF NOT EXISTS (SELECT FROM users_staff s WHERE s.id = NEW.by_id AND s.is_active) THEN\n                RAISE EXCEPTION 'An active staff account does this.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='6e8e47c398b1817e9bdf0e0f0875bca06e46cbb1', operation='INSERT', pgid='pgtrigger_by_active_staff_2ae52', table='users_hold', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='hold',
            trigger=pgtrigger.compiler.Trigger(name='of_real_user', sql=partners.db.triggers.PermanentTriggerSql(declare='DECLARE present users_user%ROWTYPE;', func="\n            -- Waits for an erasure; then there is no such user.\n            SELECT * INTO present FROM users_user WHERE id = NEW.user_id FOR NO KEY UPDATE;\n            IF present.is_sandbox THEN\n                RAISE EXCEPTION 'The records of sandbox users have no retention.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='282f1ed3f2bb15486b2ebff83b3353dad43d94b3', operation='INSERT', pgid='pgtrigger_of_real_user_74648', table='users_hold', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='hold',
            trigger=pgtrigger.compiler.Trigger(name='audit', sql=partners.db.triggers.PermanentTriggerSql(func="\n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> 'staff', context ->> 'by', context ->> 'operator', context ->> 'partner', ''), CASE WHEN context ? 'staff' THEN 'staff' WHEN context ? 'by' THEN 'staff' WHEN context ? 'operator' THEN 'operator' WHEN context ? 'partner' THEN 'partner' ELSE '' END, 'user.held', NEW.user_id::text,\n               jsonb_strip_nulls(jsonb_build_object('operator', context ->> 'operator', 'command', context ->> 'command', 'key', context ->> 'key', 'requestId', context ->> 'requestId', 'source', context ->> 'source', 'reason', context ->> 'reason') || jsonb_build_object('hold', NEW.id, 'reason', NEW.reason) || coalesce((\n    SELECT jsonb_build_object('partner', p.slug, 'externalId', u.external_id)\n      FROM users_user u JOIN partners_partner p ON p.id = u.partner_id WHERE u.id = NEW.user_id), '{}'))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}'), '{}') || jsonb_strip_nulls(jsonb_build_object('staff', (SELECT username FROM users_staff WHERE id = NEW.by_id)))\n                    AS context) AS given\n         WHERE true\n    ; RETURN NULL;", hash='7570054ce4b04fa0cd57410a91f8bce863aa6a92', operation='INSERT', pgid='pgtrigger_audit_a0483', table='users_hold', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='hold',
            trigger=pgtrigger.compiler.Trigger(name='no_update', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='9ac6dee3fc0ba5429409e3afeef30963e52697ca', operation='UPDATE', pgid='pgtrigger_no_update_36821', table='users_hold', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='hold',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='f15c1439d482bb635e2ea403fc492c5aa7b75460', operation='DELETE', pgid='pgtrigger_no_delete_d47e0', table='users_hold', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='hold',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='a3a1755b3ce3a7540c281c8f41e24ebdfcbb581d', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_dcb60', table='users_hold', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='holdrelease',
            constraint=models.CheckConstraint(condition=models.Q(('reason__regex', '\\S')), name='release_reason_given'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='holdrelease',
            trigger=pgtrigger.compiler.Trigger(name='time', sql=partners.db.triggers.PermanentTriggerSql(func='NEW.created_at := clock_timestamp(); RETURN NEW;', hash='30640f59ac53d13969afa6170f49141c2d1512b3', operation='INSERT', pgid='pgtrigger_time_054da', table='users_holdrelease', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='holdrelease',
            trigger=pgtrigger.compiler.Trigger(name='by_active_staff', sql=partners.db.triggers.PermanentTriggerSql(func="\n            IF NOT EXISTS (SELECT FROM users_staff s WHERE s.id = NEW.by_id AND s.is_active) THEN\n                RAISE EXCEPTION 'An active staff account does this.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='f99b7ec95a48ef8a62e035ec36219aefc2f3eb7a', operation='INSERT', pgid='pgtrigger_by_active_staff_06d2d', table='users_holdrelease', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='holdrelease',
            trigger=pgtrigger.compiler.Trigger(name='by_another', sql=partners.db.triggers.PermanentTriggerSql(func="\n            IF NEW.by_id = (SELECT by_id FROM users_hold WHERE id = NEW.hold_id) THEN\n                RAISE EXCEPTION 'Another person releases a hold than the one who placed it.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='6eba7b2f116800602a3eb207f636da35ed642cd0', operation='INSERT', pgid='pgtrigger_by_another_38f7c', table='users_holdrelease', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='holdrelease',
            trigger=pgtrigger.compiler.Trigger(name='audit', sql=partners.db.triggers.PermanentTriggerSql(func="\n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> 'staff', context ->> 'by', context ->> 'operator', context ->> 'partner', ''), CASE WHEN context ? 'staff' THEN 'staff' WHEN context ? 'by' THEN 'staff' WHEN context ? 'operator' THEN 'operator' WHEN context ? 'partner' THEN 'partner' ELSE '' END, 'user.released', (SELECT user_id::text FROM users_hold WHERE id = NEW.hold_id),\n               jsonb_strip_nulls(jsonb_build_object('operator', context ->> 'operator', 'command', context ->> 'command', 'key', context ->> 'key', 'requestId', context ->> 'requestId', 'source', context ->> 'source', 'reason', context ->> 'reason') || jsonb_build_object('hold', NEW.hold_id, 'reason', NEW.reason) || coalesce((\n    SELECT jsonb_build_object('partner', p.slug, 'externalId', u.external_id)\n      FROM users_user u JOIN partners_partner p ON p.id = u.partner_id WHERE u.id = (SELECT user_id FROM users_hold WHERE id = NEW.hold_id)), '{}'))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}'), '{}') || jsonb_strip_nulls(jsonb_build_object('staff', (SELECT username FROM users_staff WHERE id = NEW.by_id)))\n                    AS context) AS given\n         WHERE true\n    ; RETURN NULL;", hash='cf79c561769d4a8c836403ae8da9af4de7676404', operation='INSERT', pgid='pgtrigger_audit_e1c9b', table='users_holdrelease', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='holdrelease',
            trigger=pgtrigger.compiler.Trigger(name='no_update', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='f9731e0513c728e6ebea5d9689449667e92c1fd2', operation='UPDATE', pgid='pgtrigger_no_update_aa32e', table='users_holdrelease', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='holdrelease',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='74245149b62b8dff414400e1cbb7eab82f81e772', operation='DELETE', pgid='pgtrigger_no_delete_1516f', table='users_holdrelease', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='holdrelease',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='31683708468c6300f2088f8171dea64cc0632c8e', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_2f618', table='users_holdrelease', when='BEFORE')),
        ),
    ]
