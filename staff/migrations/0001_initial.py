import core.database.triggers
import django.contrib.auth.models
import django.contrib.auth.validators
import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
import pghistory.utils
import pgtrigger.compiler
from django.conf import settings
from django.db import migrations, models

from core.database.triggers import AddTriggers

# What Django's DatabaseCache expects (`createcachetable`): counts of failed logins that all processes see.
CREATE_CACHE = """
    CREATE TABLE staff_cache (
        cache_key varchar(255) PRIMARY KEY,
        value text NOT NULL,
        expires timestamp with time zone NOT NULL
    );
    CREATE INDEX staff_cache_expires ON staff_cache (expires);
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('events', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Staff',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                ('password_is_one_time', models.BooleanField(db_default=False, default=False, editable=False, verbose_name='one-time password')),
                ('is_emergency', models.BooleanField(db_default=False, default=False, editable=False, verbose_name='emergency account')),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'verbose_name': 'staff member',
                'verbose_name_plural': 'staff',
                'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('username'), name='staff_username_in_any_case', violation_error_message='A staff member of this name exists.'), models.UniqueConstraint(django.db.models.functions.text.Lower('email', template='%(function)s(%(expressions)s COLLATE "C")'), condition=models.Q(('email', ''), _negated=True), name='staff_address_of_one_account', violation_error_message='An account with this email address exists.')],
            },
            managers=[
                ('objects', django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name='StaffEvent',
            fields=[
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('pgh_id', models.BigAutoField(primary_key=True, serialize=False)),
                ('pgh_obj', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='history', related_query_name='history', to=settings.AUTH_USER_MODEL)),
                ('pgh_context', pghistory.utils.JSONField(null=True)),
                ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('password_is_one_time', models.BooleanField(db_default=False, default=False, editable=False, verbose_name='one-time password')),
                ('is_emergency', models.BooleanField(db_default=False, default=False, editable=False, verbose_name='emergency account')),
            ],
            options={
                'abstract': False,
                'default_permissions': (),
                'indexes': [models.Index(fields=['pgh_obj', 'pgh_id'], name='staffevent_of_row')],
                'constraints': [models.CheckConstraint(condition=models.Q(('pgh_context__isnull', True), models.Func('pgh_context', output_field=models.BooleanField(), template='coalesce(jsonb_path_match(%(expressions)s, \'$.type() == "object" && !exists($.keyvalue() ? (@.value.type() != "string"))\', silent => true), false)'), _connector='OR'), name='staffevent_context_readable')],
            },
        ),
        migrations.CreateModel(
            name='StaffRole',
            fields=[
            ],
            options={
                'proxy': True,
                'default_permissions': (),
                'indexes': [],
                'constraints': [],
            },
            bases=('staff.staff_groups',),
        ),
        migrations.CreateModel(
            name='StaffRoleEvent',
            fields=[
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('pgh_id', models.BigAutoField(primary_key=True, serialize=False)),
                ('pgh_obj', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='history', related_query_name='history', to='staff.staffrole')),
                ('pgh_context', pghistory.utils.JSONField(null=True)),
                ('staff', models.ForeignKey(db_constraint=False, db_tablespace='', on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL)),
                ('group', models.ForeignKey(db_constraint=False, db_tablespace='', on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='auth.group')),
            ],
            options={
                'abstract': False,
                'default_permissions': (),
                'indexes': [models.Index(fields=['pgh_obj', 'pgh_id'], name='staffroleevent_of_row')],
                'constraints': [models.CheckConstraint(condition=models.Q(('pgh_context__isnull', True), models.Func('pgh_context', output_field=models.BooleanField(), template='coalesce(jsonb_path_match(%(expressions)s, \'$.type() == "object" && !exists($.keyvalue() ? (@.value.type() != "string"))\', silent => true), false)'), _connector='OR'), name='staffroleevent_context_readable')],
            },
        ),
        AddTriggers(
            model_name='staff',
            triggers=[pgtrigger.compiler.Trigger(name='insert_insert', sql=core.database.triggers.PermanentTriggerSql(func='INSERT INTO "staff_staffevent" ("email", "first_name", "is_active", "is_emergency", "is_staff", "is_superuser", "last_name", "password_is_one_time", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "username") VALUES (NEW."email", NEW."first_name", NEW."is_active", NEW."is_emergency", NEW."is_staff", NEW."is_superuser", NEW."last_name", NEW."password_is_one_time", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'insert\', NEW."id", NEW."username"); RETURN NULL;', hash='b2137ad98a71b75a7e22788d69b32c2a6e5f7b1d', operation='INSERT', pgid='pgtrigger_insert_insert_06a20', table='staff_staff', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (OLD."email" IS DISTINCT FROM (NEW."email") OR OLD."first_name" IS DISTINCT FROM (NEW."first_name") OR OLD."is_active" IS DISTINCT FROM (NEW."is_active") OR OLD."is_emergency" IS DISTINCT FROM (NEW."is_emergency") OR OLD."is_staff" IS DISTINCT FROM (NEW."is_staff") OR OLD."is_superuser" IS DISTINCT FROM (NEW."is_superuser") OR OLD."last_name" IS DISTINCT FROM (NEW."last_name") OR OLD."password_is_one_time" IS DISTINCT FROM (NEW."password_is_one_time") OR OLD."username" IS DISTINCT FROM (NEW."username"))', func='INSERT INTO "staff_staffevent" ("email", "first_name", "is_active", "is_emergency", "is_staff", "is_superuser", "last_name", "password_is_one_time", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "username") VALUES (NEW."email", NEW."first_name", NEW."is_active", NEW."is_emergency", NEW."is_staff", NEW."is_superuser", NEW."last_name", NEW."password_is_one_time", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'update\', NEW."id", NEW."username"); RETURN NULL;', hash='a23267127150cc3d0ff2bdd2a09b539c6ce81aa7', operation='UPDATE', pgid='pgtrigger_update_update_4efdc', table='staff_staff', when='AFTER')), pgtrigger.compiler.Trigger(name='name_kept', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (OLD.username IS DISTINCT FROM NEW.username)', func="RAISE EXCEPTION 'Decisions and the history name staff: a name does not change.' USING ERRCODE = 'integrity_constraint_violation'; RETURN NEW;", hash='44ab271be7970a2f48fadda69e715807aa759136', operation='UPDATE', pgid='pgtrigger_name_kept_0f77f', table='staff_staff', when='BEFORE'))],
        ),
        AddTriggers(
            model_name='staffevent',
            triggers=[pgtrigger.compiler.Trigger(name='no_update', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='4dd1e4c2f0754f9795cf0e6b1e05275da1c054a3', operation='UPDATE', pgid='pgtrigger_no_update_5dbea', table='staff_staffevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND is_erasing() THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='fa7abbb08fd4e9119cbff774e215dca91b5dc3fc', operation='DELETE', pgid='pgtrigger_no_delete_7c21d', table='staff_staffevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='a303b7a7ff6caa4d6f12b0ae87ef77c9f3d09c15', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_06d49', table='staff_staffevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='audit', sql=core.database.triggers.PermanentTriggerSql(declare='DECLARE before jsonb; after jsonb;', func='\n            IF NEW.pgh_label = \'delete\' THEN\n                before := to_jsonb(NEW);\n            ELSE\n                after := to_jsonb(NEW);\n                SELECT to_jsonb(earlier) INTO before FROM staff_staffevent AS earlier\n                 WHERE pgh_obj_id = NEW.pgh_obj_id AND pgh_id < NEW.pgh_id ORDER BY pgh_id DESC LIMIT 1;\n            END IF;\n            \n        INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> \'staff\', context ->> \'by\', context ->> \'operator\', context ->> \'partner\', \'\'), CASE WHEN context ? \'staff\' THEN \'staff\' WHEN context ? \'by\' THEN \'staff\' WHEN context ? \'operator\' THEN \'operator\' WHEN context ? \'partner\' THEN \'partner\' ELSE \'\' END, \'staff.\' || CASE NEW.pgh_label WHEN \'insert\' THEN \'created\' WHEN \'update\' THEN \'changed\' ELSE \'removed\' END, NEW.username,\n               jsonb_strip_nulls(jsonb_build_object(\'operator\', context ->> \'operator\', \'command\', context ->> \'command\', \'key\', context ->> \'key\', \'requestId\', context ->> \'requestId\', \'source\', context ->> \'source\', \'reason\', context ->> \'reason\') || jsonb_build_object(\'changes\', (SELECT jsonb_object_agg(name, jsonb_build_array(coalesce(nullif(before -> name, \'""\'), \'null\'), coalesce(nullif(after -> name, \'""\'), \'null\'))) FROM unnest(ARRAY[\'email\', \'first_name\', \'last_name\', \'is_active\', \'is_staff\', \'is_superuser\', \'password_is_one_time\', \'is_emergency\']::text[]) AS name\n                    WHERE coalesce(nullif(before -> name, \'""\'), \'null\') IS DISTINCT FROM coalesce(nullif(after -> name, \'""\'), \'null\'))))\n          FROM (SELECT coalesce(NEW.pgh_context, \'{}\') || jsonb_strip_nulls(jsonb_build_object(\'staff\', NULL::text))\n                    AS context) AS given\n         WHERE true\n    ;\n         RETURN NULL;', hash='c53706e2fa5b4fff357ce430f4733796c1dba75c', operation='INSERT', pgid='pgtrigger_audit_1fbea', table='staff_staffevent', when='AFTER'))],
        ),
        AddTriggers(
            model_name='staffrole',
            triggers=[pgtrigger.compiler.Trigger(name='insert_insert', sql=core.database.triggers.PermanentTriggerSql(func='INSERT INTO "staff_staffroleevent" ("group_id", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "staff_id") VALUES (NEW."group_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'insert\', NEW."id", NEW."staff_id"); RETURN NULL;', hash='1a61a8f4318e093fda03fe77f038b759929e98a8', operation='INSERT', pgid='pgtrigger_insert_insert_4171e', table='staff_staff_groups', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=core.database.triggers.PermanentTriggerSql(condition='WHEN (OLD."group_id" IS DISTINCT FROM (NEW."group_id") OR OLD."staff_id" IS DISTINCT FROM (NEW."staff_id"))', func='INSERT INTO "staff_staffroleevent" ("group_id", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "staff_id") VALUES (NEW."group_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'update\', NEW."id", NEW."staff_id"); RETURN NULL;', hash='b4e1c6d79580b991e1b22f45075316807b208096', operation='UPDATE', pgid='pgtrigger_update_update_0192c', table='staff_staff_groups', when='AFTER')), pgtrigger.compiler.Trigger(name='delete_delete', sql=core.database.triggers.PermanentTriggerSql(func='INSERT INTO "staff_staffroleevent" ("group_id", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "staff_id") VALUES (OLD."group_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'delete\', OLD."id", OLD."staff_id"); RETURN NULL;', hash='89e9d99c95148130fc33d3dc150ea4a856d17710', operation='DELETE', pgid='pgtrigger_delete_delete_a7679', table='staff_staff_groups', when='AFTER'))],
        ),
        AddTriggers(
            model_name='staffroleevent',
            triggers=[pgtrigger.compiler.Trigger(name='no_update', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='83d7a4f5f6f7959c7e0c6ad5c1d0d802823f177f', operation='UPDATE', pgid='pgtrigger_no_update_bcc0a', table='staff_staffroleevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_delete', sql=core.database.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND is_erasing() THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='a9bb3a6942bdf734840759145e1ea5095344274f', operation='DELETE', pgid='pgtrigger_no_delete_ce861', table='staff_staffroleevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='no_truncate', sql=core.database.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='48d2b8346279f4770865f4832106ece99b03d0fb', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_05f1c', table='staff_staffroleevent', when='BEFORE')), pgtrigger.compiler.Trigger(name='audit', sql=core.database.triggers.PermanentTriggerSql(declare='DECLARE before jsonb; after jsonb;', func='\n            IF NEW.pgh_label = \'delete\' THEN\n                before := to_jsonb(NEW);\n            ELSE\n                after := to_jsonb(NEW);\n                SELECT to_jsonb(earlier) INTO before FROM staff_staffroleevent AS earlier\n                 WHERE pgh_obj_id = NEW.pgh_obj_id AND pgh_id < NEW.pgh_id ORDER BY pgh_id DESC LIMIT 1;\n            END IF;\n            \n        INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> \'staff\', context ->> \'by\', context ->> \'operator\', context ->> \'partner\', \'\'), CASE WHEN context ? \'staff\' THEN \'staff\' WHEN context ? \'by\' THEN \'staff\' WHEN context ? \'operator\' THEN \'operator\' WHEN context ? \'partner\' THEN \'partner\' ELSE \'\' END, \'staffRole.\' || CASE NEW.pgh_label WHEN \'insert\' THEN \'created\' WHEN \'update\' THEN \'changed\' ELSE \'removed\' END, (SELECT username FROM staff_staff WHERE id = NEW.staff_id),\n               jsonb_strip_nulls(jsonb_build_object(\'operator\', context ->> \'operator\', \'command\', context ->> \'command\', \'key\', context ->> \'key\', \'requestId\', context ->> \'requestId\', \'source\', context ->> \'source\', \'reason\', context ->> \'reason\') || jsonb_build_object(\'role\', (SELECT name FROM auth_group WHERE id = NEW.group_id), \'changes\', (SELECT jsonb_object_agg(name, jsonb_build_array(coalesce(nullif(before -> name, \'""\'), \'null\'), coalesce(nullif(after -> name, \'""\'), \'null\'))) FROM unnest(ARRAY[]::text[]) AS name\n                    WHERE coalesce(nullif(before -> name, \'""\'), \'null\') IS DISTINCT FROM coalesce(nullif(after -> name, \'""\'), \'null\'))))\n          FROM (SELECT coalesce(NEW.pgh_context, \'{}\') || jsonb_strip_nulls(jsonb_build_object(\'staff\', NULL::text))\n                    AS context) AS given\n         WHERE true\n    ;\n         RETURN NULL;', hash='4a2f1ec1065633548d99de6385efb14bb898147d', operation='INSERT', pgid='pgtrigger_audit_5cde0', table='staff_staffroleevent', when='AFTER'))],
        ),
        # Written by hand. Django makes this table by a command of its own.
        migrations.RunSQL(CREATE_CACHE, "DROP TABLE staff_cache"),
        migrations.RunSQL(['CREATE OR REPLACE FUNCTION is_staff(wanted text) RETURNS boolean\nLANGUAGE sql STABLE SET search_path = public, pg_temp AS $$\n    -- Whether an account has this name. For the audit log (core/models.py).\n    SELECT EXISTS (SELECT FROM staff_staff WHERE username = wanted)\n$$;\nREVOKE ALL ON FUNCTION is_staff FROM PUBLIC;\n'], migrations.RunSQL.noop),
        migrations.RunSQL(["CREATE OR REPLACE FUNCTION staff_may(account bigint, wanted text) RETURNS boolean\nLANGUAGE sql STABLE SET search_path = public, pg_temp AS $$\n    -- Whether an account is a person's, is active and has a permission of users: as a superuser, by one of its own or by\n    -- one of a role. False for null.\n    SELECT EXISTS (\n        SELECT FROM staff_staff staff\n         WHERE staff.id = account AND staff.is_active AND staff.is_staff AND (staff.is_superuser OR EXISTS (\n            SELECT FROM auth_permission permission JOIN django_content_type type ON type.id = permission.content_type_id\n             WHERE type.app_label = 'users' AND permission.codename = wanted AND (\n                EXISTS (SELECT FROM staff_staff_user_permissions own\n                         WHERE own.staff_id = staff.id AND own.permission_id = permission.id)\n                OR EXISTS (SELECT FROM staff_staff_groups role\n                             JOIN auth_group_permissions granted ON granted.group_id = role.group_id\n                            WHERE role.staff_id = staff.id AND granted.permission_id = permission.id)))))\n$$;\n\nCREATE OR REPLACE FUNCTION staff_may_decide(account bigint) RETURNS boolean\nLANGUAGE sql STABLE SET search_path = public, pg_temp AS $$\n    SELECT staff_may(account, 'decide_user')\n$$\n"], migrations.RunSQL.noop),
        migrations.RunSQL(["CREATE OR REPLACE FUNCTION staff_ties(one bigint, other bigint, OUT related boolean, OUT makers text)\nLANGUAGE sql STABLE SET search_path = public, pg_temp AS $$\n    -- How two accounts are tied by what staff did to them within 30 days: made one, changed its roles, made it a\n    -- superuser or no longer one, or reset its password or second factor.\n    -- related: whether one of the two did so to the other. makers: the names of those who did so to both; empty where\n    -- there is nobody.\n    WITH act AS (\n        SELECT DISTINCT entry.actor AS maker, made.id AS made\n          FROM staff_staff made JOIN core_auditentry entry ON entry.object = made.username\n         WHERE made.id IN (one, other) AND entry.actor_kind = 'staff' AND entry.at > now() - interval '30 days'\n           AND (entry.action IN ('staff.created', 'staff.invited', 'staff.passwordChanged', 'staff.factorReset',\n                                 'staffRole.created', 'staffRole.changed', 'staffRole.removed')\n                OR entry.action = 'staff.changed' AND entry.detail #> '{changes,is_superuser}' IS NOT NULL)\n    )\n    SELECT EXISTS (\n               SELECT FROM act JOIN staff_staff maker ON maker.username = act.maker\n                WHERE maker.id IN (one, other) AND maker.id <> act.made),\n           coalesce((SELECT string_agg(maker, ', ' ORDER BY maker)\n                       FROM (SELECT maker FROM act GROUP BY maker HAVING count(*) = 2) AS common), '')\n$$\n"], migrations.RunSQL.noop),
        migrations.RunSQL(["CREATE OR REPLACE FUNCTION staff_pair(\n    first bigint, second bigint, permission text, OUT refusal text, OUT makers text\n)\nLANGUAGE sql STABLE SET search_path = public, pg_temp AS $$\n    -- Whether two accounts may do together what takes two people who both have this permission of users.\n    -- refusal: why not, as the trigger that refuses it names its constraint; null where they may. makers: of staff_ties.\n    SELECT CASE WHEN first = second THEN 'pair_is_one'\n                WHEN NOT staff_may(first, permission) THEN 'pair_first_may_not'\n                WHEN NOT staff_may(second, permission) THEN 'pair_second_may_not'\n                WHEN ties.related THEN 'pair_is_related'\n           END, ties.makers\n      FROM staff_ties(first, second) AS ties\n$$\n"], migrations.RunSQL.noop),
    ]
