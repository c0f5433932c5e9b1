import json
import django.contrib.auth.models
import django.contrib.auth.validators
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
import django.utils.timezone
import partners.db.triggers
import pghistory.utils
import pgtrigger.compiler
import uuid
from pathlib import Path

from django.conf import settings
from django.db import migrations, models

from partners.db.operations import AddTriggers, CreateFunctions, set_storage
from users.profile.addresses import province_forms

SQL = Path(__file__).parents[1] / "sql"
# What Django's DatabaseCache expects (`createcachetable`): counts of failed logins that all processes see.
CREATE_CACHE = """
    CREATE TABLE staff_cache (
        cache_key varchar(255) PRIMARY KEY,
        value text NOT NULL,
        expires timestamp with time zone NOT NULL
    );
    CREATE INDEX staff_cache_expires ON staff_cache (expires);
"""
STORAGE = {
    "users_user": {
        "fillfactor": 90,
        "autovacuum_vacuum_scale_factor": 0.02,
        "autovacuum_analyze_scale_factor": 0.02,
    },
    "users_userevent": {"autovacuum_vacuum_insert_scale_factor": 0.02, "autovacuum_analyze_scale_factor": 0.02},
    "users_statuschange": {"autovacuum_vacuum_insert_scale_factor": 0.02, "autovacuum_analyze_scale_factor": 0.02},
}


def postal_codes():
    return {"forms": json.dumps(province_forms(), ensure_ascii=False).replace("'", "''")}


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('partners', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='id')),
                ('external_id', models.CharField(max_length=128, verbose_name='external ID')),
                ('email', models.CharField(max_length=254, verbose_name='email')),
                ('first_name', models.CharField(max_length=100, verbose_name='first name')),
                ('last_name', models.CharField(max_length=100, verbose_name='last name')),
                ('date_of_birth', models.DateField(verbose_name='date of birth')),
                ('address_line1', models.CharField(max_length=200, verbose_name='address')),
                ('address_line2', models.CharField(blank=True, db_default='', max_length=200, verbose_name='address, line 2')),
                ('city', models.CharField(max_length=100, verbose_name='city')),
                ('postal_code', models.CharField(blank=True, db_default='', max_length=16, verbose_name='postal code')),
                ('province', models.CharField(blank=True, db_default='', max_length=100, verbose_name='province')),
                ('country', models.CharField(max_length=2, verbose_name='country')),
                ('occupation', models.CharField(max_length=100, verbose_name='occupation')),
                ('is_ciro_affiliate', models.BooleanField(verbose_name='CIRO affiliate')),
                ('name_key', models.TextField(editable=False, null=True, verbose_name='folded name')),
                ('name_words', django.contrib.postgres.search.SearchVectorField(editable=False, null=True, verbose_name='words of the name')),
                ('status', models.CharField(choices=[('pendingCompliance', 'Pending compliance'), ('active', 'Active'), ('rejected', 'Rejected'), ('suspended', 'Suspended'), ('closed', 'Closed')], db_default='pendingCompliance', max_length=20, verbose_name='status')),
                ('status_reason_code', models.CharField(blank=True, db_default='', editable=False, max_length=50, verbose_name='reason code')),
                ('status_since', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='status since')),
                ('profile_changed_at', models.DateTimeField(editable=False, null=True, verbose_name='profile changed at')),
                ('identity_changed_at', models.DateTimeField(editable=False, null=True, verbose_name='identity changed at')),
                ('is_sandbox', models.BooleanField(db_default=False, editable=False, verbose_name='sandbox')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='updated at')),
                ('open_requirements', models.SmallIntegerField(db_default=0, editable=False, verbose_name='open requirements')),
                ('answered_requirements', models.SmallIntegerField(db_default=0, editable=False, verbose_name='answered requirements')),
                ('requirements_due_at', models.DateTimeField(editable=False, null=True, verbose_name='due')),
                ('answered_at', models.DateTimeField(editable=False, null=True, verbose_name='answered at')),
                ('waiting_since', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, null=True, verbose_name='waiting since')),
                ('partner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='users', to='partners.partner', verbose_name='partner')),
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'permissions': (('view_identity', 'Can see birth dates and addresses'), ('claim_user', 'Can claim cases'), ('decide_user', "Can move a user's status"), ('export_user', 'Can export users')),
                'indexes': [
                    models.Index(fields=['partner', 'created_at', 'id'], name='user_of_partner'),
                    models.Index(fields=['partner', 'status', 'created_at', 'id'], name='user_of_partner_status'),
                    models.Index(fields=['is_sandbox', 'status', 'status_since', 'id'], name='user_by_status'),
                    models.Index(condition=models.Q(('waiting_since__isnull', False)), fields=['is_sandbox', 'status', 'waiting_since', 'id'], name='user_waiting'),
                    models.Index(condition=models.Q(('answered_requirements__gt', 0), ('open_requirements', 0)), fields=['is_sandbox', 'waiting_since', 'id'], name='user_answered'),
                    models.Index(condition=models.Q(('open_requirements__gt', 0)), fields=['is_sandbox', 'requirements_due_at', 'id'], name='user_waiting_for_partner'),
                    models.Index(condition=models.Q(('identity_changed_at__isnull', False), ('status', 'active')), fields=['is_sandbox', 'identity_changed_at', 'id'], name='user_identity_changed'),
                    models.Index(condition=models.Q(('is_sandbox', False), ('status__in', ('rejected', 'closed'))), fields=['status_since', 'id'], name='user_retention'),
                    models.Index(models.F('is_sandbox'), django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Lower('email'), 'text_pattern_ops'), name='user_email_prefix'),
                    models.Index(models.F('is_sandbox'), django.contrib.postgres.indexes.OpClass(models.Func(django.db.models.functions.text.Lower('email'), models.Value('@'), models.Value(2), function='SPLIT_PART', output_field=models.TextField()), 'text_pattern_ops'), name='user_email_domain'),
                    models.Index(models.F('is_sandbox'), django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Lower('external_id', template='%(function)s(%(expressions)s COLLATE "C")'), 'text_pattern_ops'), name='user_external_id_any_case'),
                    models.Index(fields=['is_sandbox', 'date_of_birth', 'name_key'], name='user_birth_and_name'),
                    django.contrib.postgres.indexes.GinIndex(condition=models.Q(('is_sandbox', False)), fields=['name_words'], name='user_folded_words'),
                    django.contrib.postgres.indexes.GinIndex(condition=models.Q(('is_sandbox', True)), fields=['name_words'], name='user_folded_words_sandbox'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('partner', 'external_id'), name='user_partner_external_id'),
                    models.UniqueConstraint(fields=('id', 'partner', 'is_sandbox'), name='user_id_partner_mode'),
                    models.CheckConstraint(condition=models.Q(('status__in', ['pendingCompliance', 'active', 'rejected', 'suspended', 'closed'])), name='user_status_known'),
                    models.CheckConstraint(condition=models.Q(('external_id__length__gte', 1)), name='user_external_id_given'),
                    models.CheckConstraint(condition=models.Q(('date_of_birth__gte', '1900-01-01'), ('date_of_birth__lte', '9999-12-31')), name='user_date_of_birth_plausible'),
                    models.CheckConstraint(condition=models.Q(('country__regex', '^[A-Z]{2}$')), name='user_country_code'),
                ],
            },
        ),
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
                'constraints': [
                    models.UniqueConstraint(django.db.models.functions.text.Lower('username'), name='staff_username_in_any_case', violation_error_message='A staff member of this name exists.'),
                    models.UniqueConstraint(django.db.models.functions.text.Lower('email', template='%(function)s(%(expressions)s COLLATE "C")'), condition=models.Q(('email', ''), _negated=True), name='staff_address_of_one_account', violation_error_message='An account with this email address exists.'),
                ],
            },
            managers=[
                        ('objects', django.contrib.auth.models.UserManager()),
                    ],
        ),
        migrations.CreateModel(
            name='CaseNote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.CharField(max_length=2000, verbose_name='text')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('staff', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='staff')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='case_notes', to='users.user', verbose_name='user')),
            ],
            options={
                'verbose_name': 'case note',
                'verbose_name_plural': 'case notes',
                'default_permissions': ('view',),
                'indexes': [
                    models.Index(fields=['user', 'id'], name='case_note_of_user'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('text__regex', '\\S')), name='case_note_given'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Proposal',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='id')),
                ('from_status', models.CharField(choices=[('pendingCompliance', 'Pending compliance'), ('active', 'Active'), ('rejected', 'Rejected'), ('suspended', 'Suspended'), ('closed', 'Closed')], editable=False, max_length=20, verbose_name='from')),
                ('to_status', models.CharField(choices=[('pendingCompliance', 'Pending compliance'), ('active', 'Active'), ('rejected', 'Rejected'), ('suspended', 'Suspended'), ('closed', 'Closed')], max_length=20, verbose_name='to')),
                ('user_updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='version of the user')),
                ('reason', models.CharField(max_length=2000, verbose_name='reason')),
                ('reason_code', models.CharField(blank=True, db_default='', max_length=50, verbose_name='reason code')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('state', models.CharField(choices=[('open', 'Open'), ('approved', 'Approved'), ('declined', 'Declined'), ('expired', 'Expired'), ('overtaken', 'Overtaken by a change')], db_default='open', editable=False, max_length=10, verbose_name='state')),
                ('ended_at', models.DateTimeField(editable=False, null=True, verbose_name='ended at')),
                ('note', models.CharField(blank=True, db_default='', editable=False, max_length=500, verbose_name='note')),
                ('basis', models.JSONField(editable=False, null=True, verbose_name='basis')),
                ('by', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='by')),
                ('ended_by', models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='ended by')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='proposals', to='users.user', verbose_name='user')),
            ],
            options={
                'verbose_name': 'proposal',
                'verbose_name_plural': 'proposals',
                'default_permissions': ('view',),
                'indexes': [
                    models.Index(fields=['user', 'created_at'], name='proposal_of_user'),
                    models.Index(condition=models.Q(('state', 'open')), fields=['created_at', 'id'], name='proposal_open'),
                    django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.indexes.OpClass(models.F('basis__riskFlags'), 'jsonb_path_ops'), name='proposal_risk_flags'),
                ],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('user',), name='proposal_one_open'),
                    models.CheckConstraint(condition=models.Q(('state__in', ['open', 'approved', 'declined', 'expired', 'overtaken'])), name='proposal_state_known'),
                    models.CheckConstraint(condition=models.Q(('reason__regex', '\\S')), name='proposal_reason_given'),
                    models.CheckConstraint(condition=models.Q(models.Q(('ended_at', None), ('ended_by', None), ('state', 'open')), models.Q(models.Q(('state', 'open'), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='proposal_ended_or_open'),
                    models.CheckConstraint(condition=models.Q(('basis__isnull', True), models.Func('basis', output_field=models.BooleanField(), template='coalesce(jsonb_path_match(%(expressions)s, \'$.version.type() == "string" && $.source.type() == "string" && ($.openSeconds.type() == "number" || $.openSeconds.type() == "null") && $.riskFlags.type() == "array" && !exists($.riskFlags[*] ? (!( @.type() == "object" && @.code.type() == "string" && @.data.type() == "object"))) && $.changes.type() == "array" && !exists($.changes[*] ? (!( @.type() == "object" && @.since.type() == "string" && @.fields.type() == "object"))) && !exists($.changes[*].fields.keyvalue() ? (!(@.value.type() == "array" && @.value.size() == 2)))\', silent => true), false)'), _connector='OR'), name='proposal_basis_readable'),
                ],
            },
        ),
        migrations.CreateModel(
            name='StatusChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('from_status', models.CharField(choices=[('pendingCompliance', 'Pending compliance'), ('active', 'Active'), ('rejected', 'Rejected'), ('suspended', 'Suspended'), ('closed', 'Closed')], max_length=20, verbose_name='from')),
                ('to_status', models.CharField(choices=[('pendingCompliance', 'Pending compliance'), ('active', 'Active'), ('rejected', 'Rejected'), ('suspended', 'Suspended'), ('closed', 'Closed')], max_length=20, verbose_name='to')),
                ('reason_code', models.CharField(blank=True, db_default='', max_length=50, verbose_name='reason code')),
                ('reason', models.CharField(max_length=2000, verbose_name='reason')),
                ('common_maker', models.TextField(blank=True, db_default='', editable=False, verbose_name='maker of both accounts')),
                ('basis', models.JSONField(editable=False, null=True, verbose_name='basis')),
                ('waiting_since', models.DateTimeField(editable=False, null=True, verbose_name='waited since')),
                ('is_sandbox', models.BooleanField(db_default=False, editable=False, verbose_name='sandbox')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('by', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='by')),
                ('partner', models.ForeignKey(db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='partners.partner', verbose_name='partner')),
                ('proposal', models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='users.proposal', verbose_name='proposal')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='status_changes', to='users.user', verbose_name='user')),
            ],
            options={
                'verbose_name': 'decision',
                'verbose_name_plural': 'decisions',
                'ordering': ('created_at', 'id'),
                'indexes': [
                    models.Index(fields=['user', 'created_at', 'id'], name='status_change_of_user'),
                    models.Index(fields=['is_sandbox', 'created_at'], include=('from_status', 'to_status', 'waiting_since'), name='status_change_by_day'),
                    models.Index(condition=models.Q(('is_sandbox', False)), fields=['created_at', 'id'], name='status_change_live'),
                    models.Index(condition=models.Q(('is_sandbox', True)), fields=['created_at', 'id'], name='status_change_sandbox'),
                    django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.indexes.OpClass(models.F('basis__riskFlags'), 'jsonb_path_ops'), name='status_change_risk_flags'),
                ],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('proposal__isnull', False)), fields=('proposal',), name='status_change_of_proposal'),
                    models.CheckConstraint(condition=models.Q(('from_status__in', ['pendingCompliance', 'active', 'rejected', 'suspended', 'closed'])), name='status_change_from_known'),
                    models.CheckConstraint(condition=models.Q(('to_status__in', ['pendingCompliance', 'active', 'rejected', 'suspended', 'closed'])), name='status_change_to_known'),
                    models.CheckConstraint(condition=models.Q(('reason__regex', '\\S')), name='status_change_reason_given'),
                    models.CheckConstraint(condition=models.Q(('basis__isnull', True), models.Func('basis', output_field=models.BooleanField(), template='coalesce(jsonb_path_match(%(expressions)s, \'$.version.type() == "string" && $.source.type() == "string" && ($.openSeconds.type() == "number" || $.openSeconds.type() == "null") && $.riskFlags.type() == "array" && !exists($.riskFlags[*] ? (!( @.type() == "object" && @.code.type() == "string" && @.data.type() == "object"))) && $.changes.type() == "array" && !exists($.changes[*] ? (!( @.type() == "object" && @.since.type() == "string" && @.fields.type() == "object"))) && !exists($.changes[*].fields.keyvalue() ? (!(@.value.type() == "array" && @.value.size() == 2)))\', silent => true), false)'), _connector='OR'), name='status_change_basis_readable'),
                ],
            },
        ),
        migrations.CreateModel(
            name='AccessRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('opened', 'Opened'), ('claimed', 'Claimed'), ('released', 'Released'), ('exported', 'Exported')], max_length=20, verbose_name='kind')),
                ('request_id', models.CharField(blank=True, max_length=36, verbose_name='request id')),
                ('detail', models.CharField(blank=True, max_length=500, verbose_name='detail')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('staff', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='staff')),
                ('user', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='accesses', to='users.user', verbose_name='user')),
            ],
            options={
                'verbose_name': 'access record',
                'verbose_name_plural': 'access log',
                'ordering': ('-id',),
                'indexes': [
                    models.Index(fields=['user', 'id'], name='access_of_user'),
                    models.Index(fields=['staff', 'id'], name='access_by_staff'),
                    models.Index(fields=['created_at', 'id'], name='access_by_time'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('kind__in', ['opened', 'claimed', 'released', 'exported'])), name='access_kind_known'),
                    models.CheckConstraint(condition=models.Q(('user__isnull', False), ('kind', 'exported'), _connector='OR'), name='access_of_somebody'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ErasureProposal',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='id')),
                ('users', models.PositiveIntegerField(verbose_name='users')),
                ('reason', models.CharField(blank=True, max_length=500, verbose_name='reason')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('state', models.CharField(choices=[('open', 'Open'), ('approved', 'Approved'), ('declined', 'Declined'), ('expired', 'Expired'), ('done', 'Done')], db_default='open', editable=False, max_length=10, verbose_name='state')),
                ('ended_at', models.DateTimeField(editable=False, null=True, verbose_name='ended at')),
                ('note', models.CharField(blank=True, db_default='', editable=False, max_length=500, verbose_name='note')),
                ('common_maker', models.TextField(blank=True, db_default='', editable=False, verbose_name='common maker')),
                ('by', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='by')),
                ('ended_by', models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='ended by')),
                ('partner', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='partners.partner', verbose_name='partner')),
            ],
            options={
                'verbose_name': 'proposed erasure',
                'verbose_name_plural': 'proposed erasures',
                'default_permissions': ('view',),
                'indexes': [
                    models.Index(fields=['created_at', 'id'], name='erasure_proposal_by_time'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('state__in', ['open', 'approved', 'declined'])), name='erasure_proposal_state_known'),
                    models.CheckConstraint(condition=models.Q(('users__gte', 1)), name='erasure_proposal_of_somebody'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ProposedErasure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('proposal', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='rows', to='users.erasureproposal', verbose_name='proposed erasure')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='users.user', verbose_name='user')),
            ],
            options={
                'verbose_name': 'user of a proposed erasure',
                'verbose_name_plural': 'users of proposed erasures',
                'default_permissions': (),
                'constraints': [
                    models.UniqueConstraint(fields=('proposal', 'user'), name='proposed_erasure_once'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('user_id', models.UUIDField(primary_key=True, serialize=False, verbose_name='userId')),
                ('years', models.PositiveSmallIntegerField(verbose_name='years kept')),
                ('due_at', models.DateTimeField(editable=False, null=True, verbose_name='due since')),
                ('erased_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='erased at')),
                ('rows', models.JSONField(db_default=models.Value({}, models.JSONField()), editable=False, verbose_name='rows')),
                ('proposed_by', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='proposed by')),
                ('approved_by', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='approved by')),
                ('proposal', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='erased', to='users.erasureproposal', verbose_name='proposed erasure')),
                ('partner', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='partners.partner', verbose_name='partner')),
            ],
            options={
                'verbose_name': 'erased user',
                'verbose_name_plural': 'erased users',
                'permissions': (('keep_records', 'Can hold records, and propose and approve their erasure'),),
                'default_permissions': ('view',),
                'indexes': [
                    models.Index(condition=models.Q(('rows', {})), fields=['user_id'], name='erasure_under_way'),
                    models.Index(fields=['erased_at', 'user_id'], name='erasure_by_time'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('years__gte', 5)), name='erasure_years_of_the_law'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Hold',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='id')),
                ('reason', models.CharField(max_length=2000, verbose_name='reason')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('by', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='by')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='holds', to='users.user', verbose_name='user')),
            ],
            options={
                'verbose_name': 'hold',
                'verbose_name_plural': 'holds',
                'default_permissions': ('view',),
                'indexes': [
                    models.Index(fields=['user', 'created_at'], name='hold_of_user'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('reason__regex', '\\S')), name='hold_reason_given'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Requirement',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='id')),
                ('code', models.CharField(choices=[('nameUnclear', 'Name unclear'), ('dateOfBirthUnclear', 'Date of birth unclear'), ('addressUnclear', 'Address unclear'), ('occupationUnclear', 'Occupation unclear'), ('emailUnclear', 'Email unclear'), ('purposeOfUse', 'Purpose of use'), ('sourceOfFunds', 'Source of funds'), ('other', 'Other')], max_length=30, verbose_name='code')),
                ('fields', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=30), blank=True, default=list, size=None, verbose_name='fields')),
                ('message', models.CharField(blank=True, db_default='', max_length=500, verbose_name='message')),
                ('due_in_days', models.PositiveSmallIntegerField(verbose_name='days to answer')),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='due')),
                ('profile_event', models.BigIntegerField(editable=False, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('closed_at', models.DateTimeField(editable=False, null=True, verbose_name='closed at')),
                ('by', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='by')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='requirements', to='users.user', verbose_name='user')),
            ],
            options={
                'verbose_name': 'requirement',
                'verbose_name_plural': 'requirements',
                'default_permissions': ('view',),
                'indexes': [
                    models.Index(fields=['user', 'created_at', 'id'], name='requirement_of_user'),
                    models.Index(condition=models.Q(('closed_at', None)), fields=['user', 'created_at', 'id'], name='requirement_not_closed'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('code__in', ['nameUnclear', 'dateOfBirthUnclear', 'addressUnclear', 'occupationUnclear', 'emailUnclear', 'purposeOfUse', 'sourceOfFunds', 'other'])), name='requirement_code_known'),
                    models.CheckConstraint(condition=models.Q(('fields__contained_by', ['email', 'first_name', 'last_name', 'date_of_birth', 'address_line1', 'address_line2', 'city', 'postal_code', 'province', 'country', 'occupation', 'is_ciro_affiliate'])), name='requirement_fields_of_profile'),
                    models.CheckConstraint(condition=models.Q(('due_in_days__range', (1, 90))), name='requirement_due_in_days'),
                ],
            },
        ),
        migrations.CreateModel(
            name='RequirementResponse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('note', models.CharField(blank=True, db_default='', max_length=1000, verbose_name='note')),
                ('context', models.JSONField(editable=False, null=True, verbose_name='context')),
                ('profile_event', models.BigIntegerField(editable=False, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('requirement', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='responses', to='users.requirement', verbose_name='requirement')),
            ],
            options={
                'verbose_name': 'response of the partner',
                'verbose_name_plural': 'responses of the partner',
                'default_permissions': ('view',),
                'indexes': [
                    models.Index(fields=['requirement', 'id'], name='response_to_requirement'),
                ],
            },
        ),
        migrations.CreateModel(
            name='StaffEvent',
            fields=[
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('pgh_id', models.BigAutoField(primary_key=True, serialize=False)),
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
                ('pgh_obj', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='history', related_query_name='history', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
                'default_permissions': (),
                'indexes': [
                    models.Index(fields=['pgh_obj', 'pgh_id'], name='staffevent_of_row'),
                ],
            },
        ),
        migrations.CreateModel(
            name='StaffRole',
            fields=[
            ],
            options={
                'proxy': True,
                'default_permissions': (),
            },
            bases=('users.staff_groups',),
        ),
        migrations.CreateModel(
            name='StaffRoleEvent',
            fields=[
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('pgh_id', models.BigAutoField(primary_key=True, serialize=False)),
                ('pgh_context', pghistory.utils.JSONField(null=True)),
                ('group', models.ForeignKey(db_constraint=False, db_tablespace='', on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='auth.group')),
                ('staff', models.ForeignKey(db_constraint=False, db_tablespace='', on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL)),
                ('pgh_obj', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='history', related_query_name='history', to='users.staffrole')),
            ],
            options={
                'abstract': False,
                'default_permissions': (),
                'indexes': [
                    models.Index(fields=['pgh_obj', 'pgh_id'], name='staffroleevent_of_row'),
                ],
            },
        ),
        migrations.CreateModel(
            name='UserEvent',
            fields=[
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('pgh_context', pghistory.utils.JSONField(null=True)),
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, serialize=False, verbose_name='id')),
                ('external_id', models.CharField(max_length=128, verbose_name='external ID')),
                ('email', models.CharField(max_length=254, verbose_name='email')),
                ('first_name', models.CharField(max_length=100, verbose_name='first name')),
                ('last_name', models.CharField(max_length=100, verbose_name='last name')),
                ('date_of_birth', models.DateField(verbose_name='date of birth')),
                ('address_line1', models.CharField(max_length=200, verbose_name='address')),
                ('address_line2', models.CharField(blank=True, db_default='', max_length=200, verbose_name='address, line 2')),
                ('city', models.CharField(max_length=100, verbose_name='city')),
                ('postal_code', models.CharField(blank=True, db_default='', max_length=16, verbose_name='postal code')),
                ('province', models.CharField(blank=True, db_default='', max_length=100, verbose_name='province')),
                ('country', models.CharField(max_length=2, verbose_name='country')),
                ('occupation', models.CharField(max_length=100, verbose_name='occupation')),
                ('is_ciro_affiliate', models.BooleanField(verbose_name='CIRO affiliate')),
                ('status', models.CharField(choices=[('pendingCompliance', 'Pending compliance'), ('active', 'Active'), ('rejected', 'Rejected'), ('suspended', 'Suspended'), ('closed', 'Closed')], db_default='pendingCompliance', max_length=20, verbose_name='status')),
                ('status_since', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='status since')),
                ('profile_changed_at', models.DateTimeField(editable=False, null=True, verbose_name='profile changed at')),
                ('is_sandbox', models.BooleanField(db_default=False, editable=False, verbose_name='sandbox')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='updated at')),
                ('pgh_id', models.BigAutoField(primary_key=True, serialize=False)),
                ('partner', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='partners.partner', verbose_name='partner')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', related_query_name='events', to='users.user')),
            ],
            options={
                'verbose_name': 'profile change',
                'verbose_name_plural': 'profile history',
                'abstract': False,
                'indexes': [
                    models.Index(fields=['pgh_obj', 'pgh_id'], name='userevent_of_user'),
                    models.Index(condition=models.Q(('is_ciro_affiliate', True)), fields=['pgh_obj', 'status_since'], name='userevent_affiliate'),
                    models.Index(condition=models.Q(('country', 'CA'), _negated=True), fields=['pgh_obj', 'status_since'], name='userevent_abroad'),
                    models.Index(condition=models.Q(('is_sandbox', False)), fields=['pgh_id'], name='userevent_live'),
                    models.Index(condition=models.Q(('is_sandbox', True)), fields=['pgh_id'], name='userevent_sandbox'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ApprovalRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('from_status', models.CharField(choices=[('pendingCompliance', 'Pending compliance'), ('active', 'Active'), ('rejected', 'Rejected'), ('suspended', 'Suspended'), ('closed', 'Closed')], max_length=20, verbose_name='from')),
                ('to_status', models.CharField(choices=[('pendingCompliance', 'Pending compliance'), ('active', 'Active'), ('rejected', 'Rejected'), ('suspended', 'Suspended'), ('closed', 'Closed')], max_length=20, verbose_name='to')),
                ('condition', models.CharField(choices=[('never', 'No user'), ('always', 'Every user'), ('ciroAffiliate', 'CIRO affiliates'), ('countryNotCanada', 'Users with an address outside Canada')], max_length=20, verbose_name='condition')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'approval rule',
                'verbose_name_plural': 'approval rules',
                'default_permissions': ('view',),
                'indexes': [
                    models.Index(fields=['from_status', 'to_status', 'id'], include=('condition',), name='approval_rule_of_move'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('condition__in', ['never', 'always', 'ciroAffiliate', 'countryNotCanada'])), name='approval_rule_condition_known'),
                    models.CheckConstraint(condition=models.Q(models.Q(('from_status', 'pendingCompliance'), ('to_status', 'active')), models.Q(('from_status', 'suspended'), ('to_status', 'active')), models.Q(('from_status', 'rejected'), ('to_status', 'pendingCompliance')), _connector='OR'), name='approval_rule_of_move_that_lets_through'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Claim',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='claim', serialize=False, to='users.user', verbose_name='user')),
                ('claimed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='claimed at')),
                ('staff', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='claims', to=settings.AUTH_USER_MODEL, verbose_name='staff')),
            ],
            options={
                'verbose_name': 'claim',
                'verbose_name_plural': 'claims',
            },
        ),
        migrations.CreateModel(
            name='AnsweredUser',
            fields=[
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'proxy': True,
                'default_permissions': (),
            },
            bases=('users.user',),
        ),
        migrations.CreateModel(
            name='AskedUser',
            fields=[
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'proxy': True,
                'default_permissions': (),
            },
            bases=('users.user',),
        ),
        migrations.CreateModel(
            name='ChangedUser',
            fields=[
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'proxy': True,
                'default_permissions': (),
            },
            bases=('users.user',),
        ),
        migrations.CreateModel(
            name='QueuedUser',
            fields=[
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'proxy': True,
                'default_permissions': (),
            },
            bases=('users.user',),
        ),
        migrations.CreateModel(
            name='HoldRelease',
            fields=[
                ('hold', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='release', serialize=False, to='users.hold', verbose_name='hold')),
                ('reason', models.CharField(max_length=2000, verbose_name='reason')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('by', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='by')),
            ],
            options={
                'verbose_name': 'released hold',
                'verbose_name_plural': 'released holds',
                'default_permissions': ('view',),
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('reason__regex', '\\S')), name='release_reason_given'),
                ],
            },
        ),
        migrations.CreateModel(
            name='RequirementClosure',
            fields=[
                ('requirement', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='closure', serialize=False, to='users.requirement', verbose_name='requirement')),
                ('note', models.CharField(blank=True, db_default='', max_length=500, verbose_name='note')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('by', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='by')),
                ('decision', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='users.statuschange', verbose_name='decision')),
            ],
            options={
                'verbose_name': 'closed requirement',
                'verbose_name_plural': 'closed requirements',
                'default_permissions': ('view',),
                'indexes': [
                    models.Index(condition=models.Q(('decision__isnull', False)), fields=['decision'], name='closure_of_decision'),
                ],
            },
        ),
        AddTriggers(
            model_name='approvalrule',
            triggers=[
                pgtrigger.compiler.Trigger(name='audit', sql=partners.db.triggers.PermanentTriggerSql(func="\n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> 'staff', context ->> 'by', context ->> 'operator', context ->> 'partner', ''), CASE WHEN context ? 'staff' THEN 'staff' WHEN context ? 'by' THEN 'staff' WHEN context ? 'operator' THEN 'operator' WHEN context ? 'partner' THEN 'partner' ELSE '' END, 'approvalRule.set', NEW.from_status || ' → ' || NEW.to_status,\n               jsonb_strip_nulls(jsonb_build_object('operator', context ->> 'operator', 'command', context ->> 'command', 'key', context ->> 'key', 'requestId', context ->> 'requestId', 'source', context ->> 'source', 'reason', context ->> 'reason') || jsonb_build_object('changes', users_rule_changes(NEW.from_status, NEW.to_status, NEW.created_at)))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}'), '{}') || jsonb_strip_nulls(jsonb_build_object('staff', NULL::text))\n                    AS context) AS given\n         WHERE NEW.id = (SELECT max(id) FROM users_approvalrule rule\n                            WHERE rule.from_status = NEW.from_status AND rule.to_status = NEW.to_status\n                              AND rule.created_at = NEW.created_at)\n    ; RETURN NULL;", hash='6160e5e6bbb86836982eaebe1765bb3062f2b967', operation='INSERT', pgid='pgtrigger_audit_67b88', table='users_approvalrule', when='AFTER')),
                pgtrigger.compiler.Trigger(name='no_update', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='f13c54a6d29acf4425699432ef2b691c31d9cd8f', operation='UPDATE', pgid='pgtrigger_no_update_66991', table='users_approvalrule', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='9a376b2d695cf8be08f8591edfde5fa2a408dae0', operation='DELETE', pgid='pgtrigger_no_delete_5b5ad', table='users_approvalrule', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='80fc457cbee604c71055e3af427659dc90ca8113', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_05918', table='users_approvalrule', when='BEFORE')),
            ],
        ),
        AddTriggers(
            model_name='staff',
            triggers=[
                pgtrigger.compiler.Trigger(name='name_kept', sql=partners.db.triggers.PermanentTriggerSql(condition='WHEN (OLD.username IS DISTINCT FROM NEW.username)', func="RAISE EXCEPTION 'Decisions and the history name staff: a name does not change.' USING ERRCODE = 'integrity_constraint_violation';", hash='849a996e2ddd70e9d34363f6e5b3df8e8f8f51cb', operation='UPDATE', pgid='pgtrigger_name_kept_f24f6', table='users_staff', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='insert_insert', sql=partners.db.triggers.PermanentTriggerSql(func='INSERT INTO "users_staffevent" ("email", "first_name", "is_active", "is_emergency", "is_staff", "is_superuser", "last_name", "password_is_one_time", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "username") VALUES (NEW."email", NEW."first_name", NEW."is_active", NEW."is_emergency", NEW."is_staff", NEW."is_superuser", NEW."last_name", NEW."password_is_one_time", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'insert\', NEW."id", NEW."username"); RETURN NULL;', hash='dd8612c6c1de9e7bdcd93fbfea58226765303a25', operation='INSERT', pgid='pgtrigger_insert_insert_9920c', table='users_staff', when='AFTER')),
                pgtrigger.compiler.Trigger(name='update_update', sql=partners.db.triggers.PermanentTriggerSql(condition='WHEN (OLD."email" IS DISTINCT FROM (NEW."email") OR OLD."first_name" IS DISTINCT FROM (NEW."first_name") OR OLD."is_active" IS DISTINCT FROM (NEW."is_active") OR OLD."is_emergency" IS DISTINCT FROM (NEW."is_emergency") OR OLD."is_staff" IS DISTINCT FROM (NEW."is_staff") OR OLD."is_superuser" IS DISTINCT FROM (NEW."is_superuser") OR OLD."last_name" IS DISTINCT FROM (NEW."last_name") OR OLD."password_is_one_time" IS DISTINCT FROM (NEW."password_is_one_time") OR OLD."username" IS DISTINCT FROM (NEW."username"))', func='INSERT INTO "users_staffevent" ("email", "first_name", "is_active", "is_emergency", "is_staff", "is_superuser", "last_name", "password_is_one_time", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "username") VALUES (NEW."email", NEW."first_name", NEW."is_active", NEW."is_emergency", NEW."is_staff", NEW."is_superuser", NEW."last_name", NEW."password_is_one_time", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'update\', NEW."id", NEW."username"); RETURN NULL;', hash='2e3de742c7bc457bbf107903fb968cceb0e6dcab', operation='UPDATE', pgid='pgtrigger_update_update_1ad4c', table='users_staff', when='AFTER')),
            ],
        ),
        AddTriggers(
            model_name='user',
            triggers=[
                pgtrigger.compiler.Trigger(name='mode_of_partner', sql=partners.db.triggers.PermanentTriggerSql(func="\n            NEW.is_sandbox := (SELECT mode = 'sandbox' FROM partners_partner WHERE id = NEW.partner_id);\n            RETURN NEW;\n        ", hash='1f9796ec5b57a5096fdb9f034de3f86b02c501bc', operation='INSERT', pgid='pgtrigger_mode_of_partner_a7258', table='users_user', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='first_status', sql=partners.db.triggers.PermanentTriggerSql(condition="WHEN (NEW.status <> 'pendingCompliance')", func="RAISE EXCEPTION 'A user begins as pendingCompliance.' USING ERRCODE = 'integrity_constraint_violation';", hash='07a7c1f049a9c52eeec35b04c81980ccd06edb05', operation='INSERT', pgid='pgtrigger_first_status_39045', table='users_user', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='identity_immutable', sql=partners.db.triggers.PermanentTriggerSql(condition='WHEN (ROW(OLD.id, OLD.partner_id, OLD.external_id, OLD.is_sandbox, OLD.created_at) IS DISTINCT FROM ROW(NEW.id, NEW.partner_id, NEW.external_id, NEW.is_sandbox, NEW.created_at))', func="RAISE EXCEPTION 'The identity of a user does not change.' USING ERRCODE = 'integrity_constraint_violation';", hash='da4611d2892293c79af6ef385ec57d190e0406ce', operation='UPDATE OF "id", "partner_id", "external_id", "is_sandbox", "created_at"', pgid='pgtrigger_identity_immutable_83d90', table='users_user', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='status_machine', sql=partners.db.triggers.FunctionTriggerSql(condition='WHEN (OLD.status IS DISTINCT FROM NEW.status)', execute='users_status_machine()', func="CREATE OR REPLACE FUNCTION users_status_machine() RETURNS trigger\nLANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$\nBEGIN\n    SELECT latest.created_at, latest.reason_code INTO NEW.status_since, NEW.status_reason_code\n      FROM (SELECT * FROM users_statuschange WHERE user_id = NEW.id ORDER BY created_at DESC LIMIT 1) AS latest\n     WHERE from_status = OLD.status AND to_status = NEW.status AND created_at > OLD.status_since;\n    IF NOT FOUND THEN\n        RAISE EXCEPTION 'A status moves by a row in users_statuschange.'\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    NEW.identity_changed_at := NULL;\n    -- In another status a case waits only while there is an answer to read, as it did.\n    IF NEW.status = 'pendingCompliance' THEN\n        NEW.waiting_since := NEW.status_since;\n    ELSIF NEW.answered_requirements = 0 THEN\n        NEW.waiting_since := NULL;\n    END IF;\n    RETURN NEW;\nEND\n$$;\nREVOKE ALL ON FUNCTION users_status_machine FROM PUBLIC;\n", hash='9ef720d9a868fcb69cbd1a9964adc6974b6e1315', operation='UPDATE OF "status"', pgid='pgtrigger_status_machine_a2c29', table='users_user', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='status_kept', sql=partners.db.triggers.PermanentTriggerSql(condition='WHEN (OLD.status = NEW.status AND ROW(OLD.status_since, OLD.status_reason_code) IS DISTINCT FROM ROW(NEW.status_since, NEW.status_reason_code))', func="RAISE EXCEPTION 'Since when and why a user has its status is what its decision says.' USING ERRCODE = 'integrity_constraint_violation';", hash='51b1b65c6b0b307ffd1a8eba77da4812572a69d7', operation='UPDATE OF "status_since", "status_reason_code"', pgid='pgtrigger_status_kept_29365', table='users_user', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='touch', sql=partners.db.triggers.PermanentTriggerSql(func="\n            IF ROW(OLD.email, OLD.first_name, OLD.last_name, OLD.date_of_birth, OLD.address_line1, OLD.address_line2, OLD.city, OLD.postal_code, OLD.province, OLD.country, OLD.occupation, OLD.is_ciro_affiliate) IS DISTINCT FROM ROW(NEW.email, NEW.first_name, NEW.last_name, NEW.date_of_birth, NEW.address_line1, NEW.address_line2, NEW.city, NEW.postal_code, NEW.province, NEW.country, NEW.occupation, NEW.is_ciro_affiliate) THEN\n                NEW.updated_at := greatest(clock_timestamp(), OLD.updated_at + interval '1 microsecond');\n                NEW.profile_changed_at := NEW.updated_at;\n                IF NEW.status = 'active'\n                    AND ROW(OLD.first_name, OLD.last_name, OLD.date_of_birth) IS DISTINCT FROM ROW(NEW.first_name, NEW.last_name, NEW.date_of_birth) THEN\n                    NEW.identity_changed_at := NEW.updated_at;\n                END IF;\n            ELSIF OLD.status IS DISTINCT FROM NEW.status THEN\n                NEW.updated_at := greatest(clock_timestamp(), OLD.updated_at + interval '1 microsecond');\n            END IF;\n            RETURN NEW;\n        ", hash='2814eaa4f3495d6676f31ce4edaae8de93347115', operation='UPDATE', pgid='pgtrigger_touch_7f2b3', table='users_user', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='event', sql=partners.db.triggers.PermanentTriggerSql(condition='WHEN (OLD.status IS DISTINCT FROM NEW.status)', func='\n        INSERT INTO partners_outboxentry (partner_id, type, user_ids, data)\n        SELECT u.partner_id, \'user.statusChanged\', ARRAY[u.id], jsonb_build_object(\'externalId\', u.external_id, \'userId\', u.id, \'status\', u.status, \'statusReason\', CASE u.status WHEN \'active\' THEN CASE u.status_reason_code WHEN \'other\' THEN \'verified\' ELSE \'verified\' END WHEN \'rejected\' THEN CASE u.status_reason_code WHEN \'notVerified\' THEN \'notVerified\' WHEN \'duplicate\' THEN \'duplicate\' WHEN \'notServed\' THEN \'notServed\' WHEN \'listed\' THEN \'notServed\' WHEN \'fraudSuspected\' THEN \'notServed\' WHEN \'other\' THEN \'notServed\' ELSE \'notServed\' END WHEN \'suspended\' THEN CASE u.status_reason_code WHEN \'profileChanged\' THEN \'informationMissing\' WHEN \'partnerRequest\' THEN \'partnerRequest\' WHEN \'unusualActivity\' THEN \'underReview\' WHEN \'fraudSuspected\' THEN \'underReview\' WHEN \'listed\' THEN \'underReview\' WHEN \'other\' THEN \'underReview\' ELSE \'underReview\' END WHEN \'closed\' THEN CASE u.status_reason_code WHEN \'userRequest\' THEN \'userRequest\' WHEN \'partnerRequest\' THEN \'partnerRequest\' WHEN \'duplicate\' THEN \'duplicate\' WHEN \'notServed\' THEN \'notServed\' WHEN \'fraudConfirmed\' THEN \'notServed\' WHEN \'listed\' THEN \'notServed\' WHEN \'other\' THEN \'notServed\' ELSE \'notServed\' END END, \'updatedAt\', to_char(u.updated_at AT TIME ZONE \'UTC\', \'YYYY-MM-DD"T"HH24:MI:SS.US"Z"\')) FROM (SELECT NEW.*) AS u\n    ;\n            RETURN NULL;\n        ', hash='4d05b1064f34bb850aefe95a87fdc7f9371631d0', operation='UPDATE OF "status"', pgid='pgtrigger_event_bc9a1', table='users_user', when='AFTER')),
                pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='b98dbdede5d251d10f284f1316cda7ee6b4d68ad', operation='DELETE', pgid='pgtrigger_no_delete_85ca0', table='users_user', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='d1d69c161cd8edeced8874c768f17791f848e45f', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_2cd70', table='users_user', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='insert_insert', sql=partners.db.triggers.PermanentTriggerSql(func='INSERT INTO "users_userevent" ("address_line1", "address_line2", "city", "country", "created_at", "date_of_birth", "email", "external_id", "first_name", "id", "is_ciro_affiliate", "is_sandbox", "last_name", "occupation", "partner_id", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "postal_code", "profile_changed_at", "province", "status", "status_since", "updated_at") VALUES (NEW."address_line1", NEW."address_line2", NEW."city", NEW."country", NEW."created_at", NEW."date_of_birth", NEW."email", NEW."external_id", NEW."first_name", NEW."id", NEW."is_ciro_affiliate", NEW."is_sandbox", NEW."last_name", NEW."occupation", NEW."partner_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'insert\', NEW."id", NEW."postal_code", NEW."profile_changed_at", NEW."province", NEW."status", NEW."status_since", NEW."updated_at"); RETURN NULL;', hash='951d76f83285e0b4be836504dce92c0bed0f5c65', operation='INSERT', pgid='pgtrigger_insert_insert_52e78', table='users_user', when='AFTER')),
                pgtrigger.compiler.Trigger(name='update_update', sql=partners.db.triggers.PermanentTriggerSql(condition='WHEN (OLD.updated_at IS DISTINCT FROM NEW.updated_at)', func='INSERT INTO "users_userevent" ("address_line1", "address_line2", "city", "country", "created_at", "date_of_birth", "email", "external_id", "first_name", "id", "is_ciro_affiliate", "is_sandbox", "last_name", "occupation", "partner_id", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "postal_code", "profile_changed_at", "province", "status", "status_since", "updated_at") VALUES (NEW."address_line1", NEW."address_line2", NEW."city", NEW."country", NEW."created_at", NEW."date_of_birth", NEW."email", NEW."external_id", NEW."first_name", NEW."id", NEW."is_ciro_affiliate", NEW."is_sandbox", NEW."last_name", NEW."occupation", NEW."partner_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'update\', NEW."id", NEW."postal_code", NEW."profile_changed_at", NEW."province", NEW."status", NEW."status_since", NEW."updated_at"); RETURN NULL;', hash='fd5300112788046fcfdee44d69610c42cc95ef1e', operation='UPDATE', pgid='pgtrigger_update_update_16e22', table='users_user', when='AFTER')),
            ],
        ),
        AddTriggers(
            model_name='casenote',
            triggers=[
                pgtrigger.compiler.Trigger(name='time', sql=partners.db.triggers.PermanentTriggerSql(func='NEW.created_at := clock_timestamp(); RETURN NEW;', hash='49f9a5a76ab7dfa70c118c4397a1099b1a64155e', operation='INSERT', pgid='pgtrigger_time_fe733', table='users_casenote', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='by_active_staff', sql=partners.db.triggers.PermanentTriggerSql(func="\n            IF NOT EXISTS (SELECT FROM users_staff s WHERE s.id = NEW.staff_id AND s.is_active) THEN\n                RAISE EXCEPTION 'An active staff account does this.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='934e8cd4cd7a23aae8f5e9a01f889c6ab828897b', operation='INSERT', pgid='pgtrigger_by_active_staff_37b96', table='users_casenote', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_update', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='6054237391803c7f64c882a22057de335ed1e1e2', operation='UPDATE', pgid='pgtrigger_no_update_08e03', table='users_casenote', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='c2d9b93beae339830bba93c89bc0130373d9f9c3', operation='DELETE', pgid='pgtrigger_no_delete_32f23', table='users_casenote', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='5507b037955c8a8707366fe32b64f95f130f6086', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_a123c', table='users_casenote', when='BEFORE')),
            ],
        ),
        AddTriggers(
            model_name='accessrecord',
            triggers=[
                pgtrigger.compiler.Trigger(name='time', sql=partners.db.triggers.PermanentTriggerSql(func='NEW.created_at := clock_timestamp(); RETURN NEW;', hash='617197c43eeb15f34db401fef618b32fe4840a11', operation='INSERT', pgid='pgtrigger_time_7aca5', table='users_accessrecord', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='by_active_staff', sql=partners.db.triggers.PermanentTriggerSql(func="\n            IF NOT EXISTS (SELECT FROM users_staff s WHERE s.id = NEW.staff_id AND s.is_active) THEN\n                RAISE EXCEPTION 'An active staff account does this.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='2e22c25966245b4ec3f112f6bcb27e8c8deb71f2', operation='INSERT', pgid='pgtrigger_by_active_staff_52dde', table='users_accessrecord', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='audit_exported', sql=partners.db.triggers.PermanentTriggerSql(condition="WHEN (NEW.kind = 'exported')", func="\n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> 'staff', context ->> 'by', context ->> 'operator', context ->> 'partner', ''), CASE WHEN context ? 'staff' THEN 'staff' WHEN context ? 'by' THEN 'staff' WHEN context ? 'operator' THEN 'operator' WHEN context ? 'partner' THEN 'partner' ELSE '' END, 'user.exported', coalesce(NEW.user_id::text, ''),\n               jsonb_strip_nulls(jsonb_build_object('operator', context ->> 'operator', 'command', context ->> 'command', 'key', context ->> 'key', 'requestId', context ->> 'requestId', 'source', context ->> 'source', 'reason', context ->> 'reason') || jsonb_build_object('export', nullif(NEW.detail, ''), 'requestId', nullif(NEW.request_id, '')) || coalesce((\n    SELECT jsonb_build_object('partner', p.slug, 'externalId', u.external_id)\n      FROM users_user u JOIN partners_partner p ON p.id = u.partner_id WHERE u.id = NEW.user_id), '{}'))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}'), '{}') || jsonb_strip_nulls(jsonb_build_object('staff', (SELECT username FROM users_staff WHERE id = NEW.staff_id)))\n                    AS context) AS given\n         WHERE true\n    ; RETURN NULL;", hash='292d22b635137993d806d17a3e37366549b310e4', operation='INSERT', pgid='pgtrigger_audit_exported_cbc2f', table='users_accessrecord', when='AFTER')),
                pgtrigger.compiler.Trigger(name='no_update', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='63782e31be4c8b204212a42cc02b08ddf91d40d0', operation='UPDATE', pgid='pgtrigger_no_update_51c32', table='users_accessrecord', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='0413de402d37145080a433814c26a7602c52797f', operation='DELETE', pgid='pgtrigger_no_delete_b00e9', table='users_accessrecord', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='f36100229fa4bb6c0259d313a2f0b4187bdd895b', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_a5731', table='users_accessrecord', when='BEFORE')),
            ],
        ),
        AddTriggers(
            model_name='erasureproposal',
            triggers=[
                pgtrigger.compiler.Trigger(name='begins_open', sql=partners.db.triggers.PermanentTriggerSql(func="\n            NEW.created_at := clock_timestamp();\n            IF NEW.state <> 'open' OR NEW.ended_by_id IS NOT NULL OR NEW.ended_at IS NOT NULL\n                OR NEW.note <> '' OR NEW.common_maker <> '' OR NEW.reason !~ '\\S' THEN\n                RAISE EXCEPTION 'An erasure begins open, with a reason.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            IF NOT users_may(NEW.by_id, 'keep_records') THEN\n                RAISE EXCEPTION 'An active account that may decide, or audits, proposes an erasure.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='1b8390b76287909c462b854e73a14a03f97fa394', operation='INSERT', pgid='pgtrigger_begins_open_a5b46', table='users_erasureproposal', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='ends_once', sql=partners.db.triggers.PermanentTriggerSql(declare="DECLARE ends CONSTANT text[] := ARRAY['state', 'ended_by_id', 'ended_at', 'note', 'common_maker']; texts CONSTANT text[] := ARRAY['reason', 'note']; ties record;", func="\n            -- What people wrote about it ends with the first of its users (users/sql/users_erase.sql).\n            IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') AND to_jsonb(OLD) - texts = to_jsonb(NEW) - texts THEN\n                RETURN NEW;\n            END IF;\n            IF OLD.state <> 'open' OR NEW.state NOT IN ('approved', 'declined')\n                OR to_jsonb(OLD) - ends IS DISTINCT FROM to_jsonb(NEW) - ends THEN\n                RAISE EXCEPTION 'The proposal of an erasure ends once, and nothing else of it changes.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            IF OLD.created_at <= clock_timestamp() - interval '72 hours' THEN\n                RAISE EXCEPTION 'The proposal of this erasure has expired.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            IF NOT users_may(NEW.ended_by_id, 'keep_records') THEN\n                RAISE EXCEPTION 'An active account that may decide, or audits, approves or declines an erasure.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            NEW.ended_at := clock_timestamp();\n            NEW.common_maker := '';\n            IF NEW.state = 'declined' THEN\n                IF NEW.note !~ '\\S' THEN\n                    RAISE EXCEPTION 'An erasure is declined with a reason.' USING ERRCODE = 'integrity_constraint_violation';\n                END IF;\n                RETURN NEW;\n            END IF;\n            IF NEW.ended_by_id = OLD.by_id OR NOT users_may(OLD.by_id, 'keep_records') THEN\n                RAISE EXCEPTION 'An erasure takes two people, each with an active account that may.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            SELECT * INTO ties FROM users_ties(NEW.ended_by_id, OLD.by_id);\n            IF ties.related THEN\n                RAISE EXCEPTION 'An erasure takes two people: within 30 days neither made, re-roled or reset the other.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            IF OLD.users <> (SELECT count(*) FROM users_proposederasure WHERE proposal_id = OLD.id) THEN\n                RAISE EXCEPTION 'This erasure does not name its users.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            NEW.common_maker := ties.makers;\n            RETURN NEW;\n        ", hash='12e178390754d3a1f60a4ec389f2b6b851bdfcdc', operation='UPDATE', pgid='pgtrigger_ends_once_9add1', table='users_erasureproposal', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='audit', sql=partners.db.triggers.PermanentTriggerSql(func="\n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> 'staff', context ->> 'by', context ->> 'operator', context ->> 'partner', ''), CASE WHEN context ? 'staff' THEN 'staff' WHEN context ? 'by' THEN 'staff' WHEN context ? 'operator' THEN 'operator' WHEN context ? 'partner' THEN 'partner' ELSE '' END, 'erasure.proposed', NEW.id::text,\n               jsonb_strip_nulls(jsonb_build_object('operator', context ->> 'operator', 'command', context ->> 'command', 'key', context ->> 'key', 'requestId', context ->> 'requestId', 'source', context ->> 'source', 'reason', context ->> 'reason') || jsonb_build_object('users', NEW.users, 'reason', NEW.reason, 'partner', (SELECT slug FROM partners_partner WHERE id = NEW.partner_id)))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}'), '{}') || jsonb_strip_nulls(jsonb_build_object('staff', (SELECT username FROM users_staff WHERE id = NEW.by_id)))\n                    AS context) AS given\n         WHERE true\n    ; RETURN NULL;", hash='2cee201ce7e050e931d3c68ceb91bf6a5c16f718', operation='INSERT', pgid='pgtrigger_audit_f3972', table='users_erasureproposal', when='AFTER')),
                pgtrigger.compiler.Trigger(name='audit_end', sql=partners.db.triggers.PermanentTriggerSql(condition='WHEN (OLD.state <> NEW.state)', func="\n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> 'staff', context ->> 'by', context ->> 'operator', context ->> 'partner', ''), CASE WHEN context ? 'staff' THEN 'staff' WHEN context ? 'by' THEN 'staff' WHEN context ? 'operator' THEN 'operator' WHEN context ? 'partner' THEN 'partner' ELSE '' END, CASE NEW.state WHEN 'approved' THEN 'erasure.approved' ELSE 'erasure.declined' END, NEW.id::text,\n               jsonb_strip_nulls(jsonb_build_object('operator', context ->> 'operator', 'command', context ->> 'command', 'key', context ->> 'key', 'requestId', context ->> 'requestId', 'source', context ->> 'source', 'reason', context ->> 'reason') || jsonb_build_object('users', NEW.users, 'reason', nullif(NEW.note, ''), 'proposedBy', (SELECT username FROM users_staff WHERE id = NEW.by_id), 'commonMaker', nullif(NEW.common_maker, '')))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}'), '{}') || jsonb_strip_nulls(jsonb_build_object('staff', (SELECT username FROM users_staff WHERE id = NEW.ended_by_id)))\n                    AS context) AS given\n         WHERE true\n    ; RETURN NULL;", hash='1f2f1b6f685de1a0074ebab37a15d9777325c693', operation='UPDATE', pgid='pgtrigger_audit_end_82011', table='users_erasureproposal', when='AFTER')),
                pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='3b2a1d419080e0766d116e8b85301f8f7ff9011a', operation='DELETE', pgid='pgtrigger_no_delete_bb4ee', table='users_erasureproposal', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='fb79c0b93537e58f96bf02738a6ecf8c7dbd24d7', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_494b8', table='users_erasureproposal', when='BEFORE')),
            ],
        ),
        AddTriggers(
            model_name='proposederasure',
            triggers=[
                pgtrigger.compiler.Trigger(name='at_once', sql=partners.db.triggers.PermanentTriggerSql(func="\n            IF EXISTS (\n                SELECT FROM (SELECT DISTINCT proposal_id FROM inserted) AS i\n                  JOIN users_erasureproposal p ON p.id = i.proposal_id\n                 WHERE p.state <> 'open' OR p.users <> (\n                    SELECT count(*) FROM users_proposederasure r WHERE r.proposal_id = p.id)) THEN\n                RAISE EXCEPTION 'An erasure names all its users in one statement.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            IF EXISTS (\n                SELECT FROM inserted i\n                  JOIN users_proposederasure r ON r.user_id = i.user_id AND r.proposal_id <> i.proposal_id\n                  JOIN users_erasureproposal p ON p.id = r.proposal_id\n                 WHERE (p.state = 'open' AND p.created_at > clock_timestamp() - interval '72 hours'\n        OR p.state = 'approved' AND p.ended_at > clock_timestamp() - interval '30 days')) THEN\n                RAISE EXCEPTION 'Another erasure that is open or approved names one of these users.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NULL;\n        ", hash='f39d5337216f259a4ab5ebc3a46fe2eb079055a4', level='STATEMENT', operation='INSERT', pgid='pgtrigger_at_once_58904', referencing='REFERENCING NEW TABLE AS inserted ', table='users_proposederasure', when='AFTER')),
                pgtrigger.compiler.Trigger(name='no_update', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='4aac8f01134407ab4ed30e621a37e56f9ad88eb1', operation='UPDATE', pgid='pgtrigger_no_update_dfd50', table='users_proposederasure', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='8ed2e8fe2bf5026bf3bc337f68d6b7df06141f0f', operation='DELETE', pgid='pgtrigger_no_delete_1a4e5', table='users_proposederasure', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='efd719ba06e896f56fe04342cbe5320c743a6bae', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_91253', table='users_proposederasure', when='BEFORE')),
            ],
        ),
        AddTriggers(
            model_name='erasure',
            triggers=[
                pgtrigger.compiler.Trigger(name='is_due', sql=partners.db.triggers.PermanentTriggerSql(declare='DECLARE erased users_user%ROWTYPE; proposal users_erasureproposal%ROWTYPE;', func="\n            -- Waits for those who write about the user, and keeps others waiting.\n            SELECT * INTO erased FROM users_user WHERE id = NEW.user_id FOR UPDATE;\n            IF NOT FOUND THEN\n                RAISE EXCEPTION 'There is no such user.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            NEW.due_at := CASE WHEN erased.status IN ('rejected', 'closed') AND NOT erased.is_sandbox\n        THEN ((greatest(erased.status_since, (SELECT created_at FROM transactions_conversion WHERE user_id = erased.id ORDER BY created_at DESC LIMIT 1), (SELECT created_at FROM transactions_document WHERE user_id = erased.id ORDER BY created_at DESC LIMIT 1)) AT TIME ZONE 'UTC') + make_interval(years => NEW.years::integer)) AT TIME ZONE 'UTC' END;\n            IF NEW.due_at IS NULL OR NEW.due_at > clock_timestamp() THEN\n                RAISE EXCEPTION 'The records of this user are not due for erasure.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            IF EXISTS (\n    SELECT FROM users_hold hold WHERE hold.user_id = erased.id\n       AND NOT EXISTS (SELECT FROM users_holdrelease release WHERE release.hold_id = hold.id)) THEN\n                RAISE EXCEPTION 'The records of this user are held.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            SELECT p.* INTO proposal\n              FROM users_proposederasure r JOIN users_erasureproposal p ON p.id = r.proposal_id\n             WHERE r.user_id = erased.id AND p.state = 'approved' AND p.ended_at > clock_timestamp() - interval '30 days'\n             ORDER BY p.ended_at LIMIT 1;\n            IF NOT FOUND THEN\n                RAISE EXCEPTION 'Two people have not approved the erasure of this user.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            NEW.proposal_id := proposal.id;\n            NEW.proposed_by_id := proposal.by_id;\n            NEW.approved_by_id := proposal.ended_by_id;\n            NEW.partner_id := erased.partner_id;\n            NEW.erased_at := clock_timestamp();\n            NEW.rows := '{}';\n            RETURN NEW;\n        ", hash='2b843e8361270a91bf906498544c61bfaf0333b9', operation='INSERT', pgid='pgtrigger_is_due_f6c3f', table='users_erasure', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='erases', sql=partners.db.triggers.FunctionTriggerSql(execute='users_erase()', func='-- The only function that erases a user: the trigger after the insert of a row of users_erasure, which the serving role\n-- may not insert. The trigger before it has locked the user, and refused one that is not due, is held, or whose erasure\n-- two people have not approved.\n--\n-- While `rows` is empty, the triggers that refuse DELETE let this function pass (partners/db/triggers.py). The row is\n-- in no other transaction then, and has its counts before the statement that inserted it ends.\nCREATE OR REPLACE FUNCTION users_erase() RETURNS trigger\nLANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$\nDECLARE\n    erased users_user%ROWTYPE;\n    -- The identifiers by which the audit log names what is erased, as texts.\n    ids text[];\n    address text;\n    context jsonb;\n    counts jsonb := \'{}\';\n    named jsonb;\n    n bigint;\n    more bigint;\nBEGIN\n    SELECT * INTO erased FROM users_user WHERE id = NEW.user_id;\n    -- Waits for deliveries that are being made of the user\'s events (partners/webhooks/fan_out.py skips what is locked).\n    PERFORM FROM partners_webhookendpoint WHERE partner_id = erased.partner_id ORDER BY id FOR NO KEY UPDATE;\n    ids := ARRAY(SELECT erased.id::text\n       UNION ALL SELECT id::text FROM users_hold WHERE user_id = erased.id\n       UNION ALL SELECT id::text FROM users_proposal WHERE user_id = erased.id\n       UNION ALL SELECT id::text FROM users_requirement WHERE user_id = erased.id\n       UNION ALL SELECT document_id::text FROM transactions_document WHERE user_id = erased.id);\n    -- The path as requests have it in its canonical form: each byte but the unreserved ones as %XX.\n    address := \'/v1/users/\' || (\n        SELECT string_agg(\n                   CASE WHEN letter ~ \'^[A-Za-z0-9_.~/-]$\' THEN letter\n                        ELSE regexp_replace(upper(encode(convert_to(letter, \'UTF8\'), \'hex\')), \'(..)\', \'%\\1\', \'g\') END,\n                   \'\' ORDER BY place)\n          FROM regexp_split_to_table(erased.external_id, \'\') WITH ORDINALITY AS letters (letter, place));\n\n    -- What refers to other rows goes before them.\n    DELETE FROM users_requirementclosure\n     WHERE requirement_id IN (SELECT id FROM users_requirement WHERE user_id = erased.id);\n    GET DIAGNOSTICS n = ROW_COUNT;\n    DELETE FROM users_requirementclosure\n     WHERE decision_id IN (SELECT id FROM users_statuschange WHERE user_id = erased.id);\n    GET DIAGNOSTICS more = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'users_requirementclosure\', n + more);\n\n    DELETE FROM users_requirementresponse\n     WHERE requirement_id IN (SELECT id FROM users_requirement WHERE user_id = erased.id);\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'users_requirementresponse\', n);\n\n    DELETE FROM users_requirement WHERE user_id = erased.id;\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'users_requirement\', n);\n\n    DELETE FROM users_statuschange WHERE user_id = erased.id;\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'users_statuschange\', n);\n\n    DELETE FROM users_proposal WHERE user_id = erased.id;\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'users_proposal\', n);\n\n    DELETE FROM users_casenote WHERE user_id = erased.id;\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'users_casenote\', n);\n\n    DELETE FROM users_claim WHERE user_id = erased.id;\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'users_claim\', n);\n\n    DELETE FROM users_accessrecord WHERE user_id = erased.id;\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'users_accessrecord\', n);\n\n    -- What people wrote about its erasure may name it.\n    UPDATE users_erasureproposal SET reason = \'\', note = \'\'\n     WHERE id IN (SELECT proposal_id FROM users_proposederasure WHERE user_id = erased.id)\n       AND (reason <> \'\' OR note <> \'\');\n    UPDATE partners_auditentry SET detail = detail - \'reason\'\n     WHERE object IN (SELECT proposal_id::text FROM users_proposederasure WHERE user_id = erased.id)\n       AND detail ? \'reason\';\n    DELETE FROM users_proposederasure WHERE user_id = erased.id;\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'users_proposederasure\', n);\n\n    DELETE FROM users_holdrelease WHERE hold_id IN (SELECT id FROM users_hold WHERE user_id = erased.id);\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'users_holdrelease\', n);\n\n    DELETE FROM users_hold WHERE user_id = erased.id;\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'users_hold\', n);\n\n    DELETE FROM transactions_documentwithdrawal\n     WHERE document_id IN (SELECT id FROM transactions_document WHERE user_id = erased.id);\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'transactions_documentwithdrawal\', n);\n\n    DELETE FROM transactions_document WHERE user_id = erased.id;\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'transactions_document\', n);\n\n    DELETE FROM transactions_conversion WHERE user_id = erased.id;\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'transactions_conversion\', n);\n\n    DELETE FROM partners_webhookdelivery\n     WHERE event_id IN (SELECT id FROM partners_event WHERE user_id = erased.id);\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'partners_webhookdelivery\', n);\n\n    DELETE FROM partners_event WHERE user_id = erased.id;\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'partners_event\', n);\n\n    DELETE FROM partners_outboxentry WHERE partner_id = erased.partner_id AND erased.id = ALL(user_ids);\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'partners_outboxentry\', n);\n\n    -- A registration is found by its Location, which is the user\'s path.\n    DELETE FROM partners_idempotencyrecord\n     WHERE partner_id = erased.partner_id\n       AND (coalesce(location, path) = address OR starts_with(coalesce(location, path), address || \'/\'));\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'partners_idempotencyrecord\', n);\n\n    DELETE FROM partners_usedsignature\n     WHERE partner_id = erased.partner_id AND (path = address OR starts_with(path, address || \'/\'));\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'partners_usedsignature\', n);\n\n    DELETE FROM partners_auditentry WHERE object = ANY(ids);\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'partners_auditentry\', n);\n\n    DELETE FROM django_admin_log WHERE object_id = ANY(ids);\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'django_admin_log\', n);\n\n    DELETE FROM users_userevent WHERE pgh_obj_id = erased.id;\n    GET DIAGNOSTICS n = ROW_COUNT;\n    counts := counts || jsonb_build_object(\'users_userevent\', n);\n\n    DELETE FROM users_user WHERE id = erased.id;\n    counts := counts || jsonb_build_object(\'users_user\', 1);\n\n    -- The risk flags of others name it as somebody of the same name or address: their number stays.\n    named := jsonb_build_array(\n        jsonb_build_object(\'data\', jsonb_build_object(\'userIds\', jsonb_build_array(erased.id))));\n    UPDATE users_statuschange SET basis = replace(basis::text, to_json(erased.id)::text, \'null\')::jsonb\n     WHERE basis -> \'riskFlags\' @> named;\n    UPDATE users_proposal SET basis = replace(basis::text, to_json(erased.id)::text, \'null\')::jsonb\n     WHERE basis -> \'riskFlags\' @> named;\n    -- Entries of a statement about several users, such as an import\'s: the others keep theirs.\n    UPDATE partners_outboxentry entry\n       SET (user_ids, external_ids, times, size) = (\n           SELECT array_agg(of_user), array_agg(external_id), array_agg(time), count(*)\n             FROM unnest(entry.user_ids, entry.external_ids, entry.times) AS rows (of_user, external_id, time)\n            WHERE of_user <> erased.id)\n     WHERE partner_id = erased.partner_id AND erased.id = ANY(user_ids);\n\n    SELECT jsonb_object_agg(name, value) INTO counts FROM jsonb_each(counts) AS each (name, value) WHERE value <> \'0\';\n    UPDATE users_erasure SET rows = counts WHERE user_id = NEW.user_id;\n    INSERT INTO partners_outboxentry (partner_id, type, user_ids, data)\n    VALUES (erased.partner_id, \'user.erased\', ARRAY[erased.id],\n            jsonb_build_object(\'externalId\', erased.external_id, \'userId\', erased.id));\n    context := coalesce(nullif(current_setting(\'pghistory.context_metadata\', true), \'\'), \'{}\')::jsonb;\n    INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n    VALUES (coalesce(context ->> \'operator\', \'\'), CASE WHEN context ? \'operator\' THEN \'operator\' ELSE \'\' END,\n            \'user.erased\', NEW.user_id::text,\n            jsonb_strip_nulls(jsonb_build_object(\n                \'command\', context ->> \'command\',\n                \'partner\', (SELECT slug FROM partners_partner WHERE id = NEW.partner_id),\n                \'dueAt\', to_char(NEW.due_at AT TIME ZONE \'UTC\', \'YYYY-MM-DD"T"HH24:MI:SS.US"Z"\'),\n                \'proposedBy\', (SELECT username FROM users_staff WHERE id = NEW.proposed_by_id),\n                \'approvedBy\', (SELECT username FROM users_staff WHERE id = NEW.approved_by_id),\n                \'commonMaker\', (\n                    SELECT nullif(common_maker, \'\') FROM users_erasureproposal WHERE id = NEW.proposal_id),\n                \'rows\', counts)));\n    RETURN NULL;\nEND\n$$;\nREVOKE ALL ON FUNCTION users_erase FROM PUBLIC;\n', hash='35bfae884b94bdba3647ecd61c0a845eab509555', operation='INSERT', pgid='pgtrigger_erases_2b9d2', table='users_erasure', when='AFTER')),
                pgtrigger.compiler.Trigger(name='counted_once', sql=partners.db.triggers.PermanentTriggerSql(func="\n            IF OLD.rows <> '{}' OR pg_trigger_depth() < 2\n                OR to_jsonb(OLD) - 'rows' IS DISTINCT FROM to_jsonb(NEW) - 'rows' THEN\n                RAISE EXCEPTION 'What is left of a user does not change.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='6a9965d210981ef4a1a8fd5df8614519ccfa5bdf', operation='UPDATE', pgid='pgtrigger_counted_once_b9624', table='users_erasure', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='388ded5d4ca48ce1eb59c4f56f0d0b0039e682f2', operation='DELETE', pgid='pgtrigger_no_delete_69279', table='users_erasure', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='d136de62d535ff64d357574ebd3701b561bf10a4', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_42cf8', table='users_erasure', when='BEFORE')),
            ],
        ),
        AddTriggers(
            model_name='hold',
            triggers=[
                pgtrigger.compiler.Trigger(name='time', sql=partners.db.triggers.PermanentTriggerSql(func='NEW.created_at := clock_timestamp(); RETURN NEW;', hash='ae8bf4d897ba684c093ca364f7aeb430102e4ecc', operation='INSERT', pgid='pgtrigger_time_ac74f', table='users_hold', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='of_real_user', sql=partners.db.triggers.PermanentTriggerSql(declare='DECLARE present users_user%ROWTYPE;', func="\n            IF NOT users_may(NEW.by_id, 'keep_records') THEN\n                RAISE EXCEPTION 'An active account that may decide, or audits, does this.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            -- Waits for an erasure; then there is no such user.\n            SELECT * INTO present FROM users_user WHERE id = NEW.user_id FOR NO KEY UPDATE;\n            IF present.is_sandbox THEN\n                RAISE EXCEPTION 'The records of sandbox users have no retention.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='0409d59687d0e8b8a061ca32e0f55a7826420070', operation='INSERT', pgid='pgtrigger_of_real_user_74648', table='users_hold', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='audit', sql=partners.db.triggers.PermanentTriggerSql(func="\n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> 'staff', context ->> 'by', context ->> 'operator', context ->> 'partner', ''), CASE WHEN context ? 'staff' THEN 'staff' WHEN context ? 'by' THEN 'staff' WHEN context ? 'operator' THEN 'operator' WHEN context ? 'partner' THEN 'partner' ELSE '' END, 'user.held', NEW.user_id::text,\n               jsonb_strip_nulls(jsonb_build_object('operator', context ->> 'operator', 'command', context ->> 'command', 'key', context ->> 'key', 'requestId', context ->> 'requestId', 'source', context ->> 'source', 'reason', context ->> 'reason') || jsonb_build_object('hold', NEW.id, 'reason', NEW.reason) || coalesce((\n    SELECT jsonb_build_object('partner', p.slug, 'externalId', u.external_id)\n      FROM users_user u JOIN partners_partner p ON p.id = u.partner_id WHERE u.id = NEW.user_id), '{}'))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}'), '{}') || jsonb_strip_nulls(jsonb_build_object('staff', (SELECT username FROM users_staff WHERE id = NEW.by_id)))\n                    AS context) AS given\n         WHERE true\n    ; RETURN NULL;", hash='7570054ce4b04fa0cd57410a91f8bce863aa6a92', operation='INSERT', pgid='pgtrigger_audit_a0483', table='users_hold', when='AFTER')),
                pgtrigger.compiler.Trigger(name='no_update', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='9ac6dee3fc0ba5429409e3afeef30963e52697ca', operation='UPDATE', pgid='pgtrigger_no_update_36821', table='users_hold', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='f15c1439d482bb635e2ea403fc492c5aa7b75460', operation='DELETE', pgid='pgtrigger_no_delete_d47e0', table='users_hold', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='a3a1755b3ce3a7540c281c8f41e24ebdfcbb581d', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_dcb60', table='users_hold', when='BEFORE')),
            ],
        ),
        AddTriggers(
            model_name='proposal',
            triggers=[
                pgtrigger.compiler.Trigger(name='by_active_staff', sql=partners.db.triggers.PermanentTriggerSql(func="\n            IF NOT EXISTS (SELECT FROM users_staff s WHERE s.id = NEW.by_id AND s.is_active) THEN\n                RAISE EXCEPTION 'An active staff account does this.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='ff8f4a0f51d313b345ad8616b0dbd1fdad4e512d', operation='INSERT', pgid='pgtrigger_by_active_staff_e52e8', table='users_proposal', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='of_present', sql=partners.db.triggers.FunctionTriggerSql(execute='users_proposal_of_present()', func="CREATE OR REPLACE FUNCTION users_proposal_of_present() RETURNS trigger\nLANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$\nDECLARE\n    present users_user%ROWTYPE;\nBEGIN\n    SELECT * INTO present FROM users_user WHERE id = NEW.user_id FOR NO KEY UPDATE;\n    NEW.from_status := present.status;\n    NEW.user_updated_at := present.updated_at;\n    NEW.created_at := clock_timestamp();\n    IF NEW.state <> 'open' OR NEW.ended_by_id IS NOT NULL OR NEW.ended_at IS NOT NULL OR NEW.note <> '' THEN\n        RAISE EXCEPTION 'A proposal begins open.'\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    IF NOT users_takes_two(NEW.user_id, NEW.to_status) THEN\n        RAISE EXCEPTION 'This move takes one person: there is no rule for it.'\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    IF NOT users_may_decide(NEW.by_id) THEN\n        RAISE EXCEPTION 'An active account that may decide proposes.'\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    RETURN NEW;\nEND\n$$;\nREVOKE ALL ON FUNCTION users_proposal_of_present FROM PUBLIC;\n", hash='c2bc5230b74346b8ce3bf6f9608b74bfb93f5058', operation='INSERT', pgid='pgtrigger_of_present_ee2c3', table='users_proposal', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='ends_once', sql=partners.db.triggers.FunctionTriggerSql(execute='users_proposal_ends_once()', func="CREATE OR REPLACE FUNCTION users_proposal_ends_once() RETURNS trigger\nLANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$\nDECLARE\n    present users_user%ROWTYPE;\n    ends CONSTANT text[] := ARRAY['state', 'ended_by_id', 'ended_at', 'note'];\nBEGIN\n    -- The erasure of another user blanks its userId (users/sql/users_erase.sql).\n    IF pg_trigger_depth() > 1 AND to_jsonb(OLD) - 'basis' = to_jsonb(NEW) - 'basis'\n        AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN\n        RETURN NEW;\n    END IF;\n    IF OLD.state <> 'open' OR NEW.state = 'open'\n        OR to_jsonb(OLD) - ends IS DISTINCT FROM to_jsonb(NEW) - ends THEN\n        RAISE EXCEPTION 'A proposal ends once, and nothing else of it changes.'\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    SELECT * INTO present FROM users_user WHERE id = NEW.user_id;\n    NEW.ended_at := clock_timestamp();\n    IF NEW.state = 'approved' THEN\n        IF NOT EXISTS (\n            SELECT FROM users_statuschange d WHERE d.proposal_id = NEW.id AND d.by_id = NEW.ended_by_id) THEN\n            RAISE EXCEPTION 'A proposal is approved by a decision that names it.'\n            USING ERRCODE = 'integrity_constraint_violation';\n        END IF;\n    ELSIF NEW.state = 'expired' THEN\n        -- A minute is for the clocks of other machines.\n        IF users_proposal_expiry(OLD.created_at) > clock_timestamp() + interval '1 minute'\n            OR NEW.ended_by_id IS NOT NULL THEN\n            RAISE EXCEPTION 'This proposal has not expired.'\n            USING ERRCODE = 'integrity_constraint_violation';\n        END IF;\n        NEW.ended_at := users_proposal_expiry(OLD.created_at);\n    ELSIF NEW.state = 'overtaken' THEN\n        IF present.updated_at = OLD.user_updated_at OR NEW.ended_by_id IS NOT NULL THEN\n            RAISE EXCEPTION 'The user has not changed since this proposal.'\n            USING ERRCODE = 'integrity_constraint_violation';\n        END IF;\n        NEW.ended_at := (\n            SELECT min(event.updated_at) FROM users_userevent event\n             WHERE event.pgh_obj_id = NEW.user_id AND event.updated_at > OLD.user_updated_at);\n    ELSIF NEW.note !~ '\\S' OR NOT users_may_decide(NEW.ended_by_id)\n        -- Who disables the account of the proposer may be an administrator, or an operator.\n        AND (SELECT is_active FROM users_staff WHERE id = NEW.by_id) THEN\n        RAISE EXCEPTION 'Somebody who may decide declines a proposal, with a note.'\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    RETURN NEW;\nEND\n$$;\nREVOKE ALL ON FUNCTION users_proposal_ends_once FROM PUBLIC;\n", hash='d06dd15fb5ca6af59ff3de8c311ff8abf72d825e', operation='UPDATE', pgid='pgtrigger_ends_once_9df08', table='users_proposal', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='audit', sql=partners.db.triggers.PermanentTriggerSql(func="\n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> 'staff', context ->> 'by', context ->> 'operator', context ->> 'partner', ''), CASE WHEN context ? 'staff' THEN 'staff' WHEN context ? 'by' THEN 'staff' WHEN context ? 'operator' THEN 'operator' WHEN context ? 'partner' THEN 'partner' ELSE '' END, 'user.proposed', NEW.user_id::text,\n               jsonb_strip_nulls(jsonb_build_object('operator', context ->> 'operator', 'command', context ->> 'command', 'key', context ->> 'key', 'requestId', context ->> 'requestId', 'source', context ->> 'source', 'reason', context ->> 'reason') || jsonb_build_object('changes', jsonb_build_object('status', jsonb_build_array(NEW.from_status, NEW.to_status)), 'reason', NEW.reason, 'reasonCode', nullif(NEW.reason_code, ''), 'proposal', NEW.id) || coalesce((\n    SELECT jsonb_build_object('partner', p.slug, 'externalId', u.external_id)\n      FROM users_user u JOIN partners_partner p ON p.id = u.partner_id WHERE u.id = NEW.user_id), '{}'))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}'), '{}') || jsonb_strip_nulls(jsonb_build_object('staff', (SELECT username FROM users_staff WHERE id = NEW.by_id)))\n                    AS context) AS given\n         WHERE true\n    ; RETURN NULL;", hash='ebb307edc8220241061d33239fc9bdffd9aa088a', operation='INSERT', pgid='pgtrigger_audit_dfced', table='users_proposal', when='AFTER')),
                pgtrigger.compiler.Trigger(name='audit_end', sql=partners.db.triggers.PermanentTriggerSql(condition="WHEN (OLD.state <> NEW.state AND NEW.state <> 'approved')", func="\n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> 'staff', context ->> 'by', context ->> 'operator', context ->> 'partner', ''), CASE WHEN context ? 'staff' THEN 'staff' WHEN context ? 'by' THEN 'staff' WHEN context ? 'operator' THEN 'operator' WHEN context ? 'partner' THEN 'partner' ELSE '' END, 'user.proposalEnded', NEW.user_id::text,\n               jsonb_strip_nulls(jsonb_build_object('operator', context ->> 'operator', 'command', context ->> 'command', 'key', context ->> 'key', 'requestId', context ->> 'requestId', 'source', context ->> 'source', 'reason', context ->> 'reason') || jsonb_build_object('state', NEW.state, 'note', nullif(NEW.note, ''), 'proposal', NEW.id) || coalesce((\n    SELECT jsonb_build_object('partner', p.slug, 'externalId', u.external_id)\n      FROM users_user u JOIN partners_partner p ON p.id = u.partner_id WHERE u.id = NEW.user_id), '{}'))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}'), '{}') || jsonb_strip_nulls(jsonb_build_object('staff', (SELECT username FROM users_staff WHERE id = NEW.ended_by_id)))\n                    AS context) AS given\n         WHERE true\n    ; RETURN NULL;", hash='e13cb61438c2e404a332192e9199338734da4155', operation='UPDATE', pgid='pgtrigger_audit_end_4cc6e', table='users_proposal', when='AFTER')),
                pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='b7e6aaaba46a2b9542143a003f1bdeb92a244059', operation='DELETE', pgid='pgtrigger_no_delete_513a5', table='users_proposal', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='7a1669340dcde470b4ceccd92ddc880f83589d29', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_82ddf', table='users_proposal', when='BEFORE')),
            ],
        ),
        AddTriggers(
            model_name='requirement',
            triggers=[
                pgtrigger.compiler.Trigger(name='by_active_staff', sql=partners.db.triggers.PermanentTriggerSql(func="\n            IF NOT EXISTS (SELECT FROM users_staff s WHERE s.id = NEW.by_id AND s.is_active) THEN\n                RAISE EXCEPTION 'An active staff account does this.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='74dcd91c9922352bdb27dc532173484f7299ee81', operation='INSERT', pgid='pgtrigger_by_active_staff_359fc', table='users_requirement', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='of_present', sql=partners.db.triggers.FunctionTriggerSql(execute="users_requirement_of_present('10', '1000')", func="CREATE OR REPLACE FUNCTION users_requirement_of_present() RETURNS trigger\nLANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$\nDECLARE\n    present users_user%ROWTYPE;\nBEGIN\n    -- Arguments: the most requirements of a user that are not closed, and the most at all.\n    SELECT * INTO present FROM users_user WHERE id = NEW.user_id FOR NO KEY UPDATE;\n    IF present.status IN ('rejected', 'closed') THEN\n        RAISE EXCEPTION 'Nothing is asked about a user who is rejected or closed.'\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    IF (SELECT count(*) FROM users_requirement r WHERE r.user_id = NEW.user_id AND r.closed_at IS NULL)\n        >= TG_ARGV[0]::integer THEN\n        RAISE EXCEPTION 'A user has at most % requirements that are not closed.', TG_ARGV[0]\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    -- No more rows are read than that.\n    IF (SELECT count(*) FROM (\n            SELECT FROM users_requirement r WHERE r.user_id = NEW.user_id LIMIT TG_ARGV[1]::integer) AS found)\n        = TG_ARGV[1]::integer THEN\n        RAISE EXCEPTION 'A user has at most % requirements, closed ones included.', TG_ARGV[1]\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    NEW.closed_at := NULL;\n    NEW.created_at := clock_timestamp();\n    NEW.due_at := NEW.created_at + NEW.due_in_days * interval '24 hours';\n    NEW.profile_event := (SELECT max(e.pgh_id) FROM users_userevent e WHERE e.pgh_obj_id = NEW.user_id);\n    RETURN NEW;\nEND\n$$;\nREVOKE ALL ON FUNCTION users_requirement_of_present FROM PUBLIC;\n", hash='274649d2664e07b99c59851f304fe2f5bd2103db', operation='INSERT', pgid='pgtrigger_of_present_71d3e', table='users_requirement', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='user_columns', sql=partners.db.triggers.PermanentTriggerSql(func="\n            PERFORM users_refresh_requirements(ARRAY[NEW.user_id]);\n            \n        INSERT INTO partners_outboxentry (partner_id, type, user_ids, data)\n        SELECT u.partner_id, 'user.requirementsChanged', ARRAY[u.id], jsonb_build_object('externalId', u.external_id, 'userId', u.id, 'openRequirements', u.open_requirements, 'openedRequirementId', NEW.id) FROM users_user u WHERE u.id = NEW.user_id\n    ;\n            RETURN NULL;\n        ", hash='123502df95f36d5b6109fa1cb3bfa735318311a6', operation='INSERT', pgid='pgtrigger_user_columns_1349e', table='users_requirement', when='AFTER')),
                pgtrigger.compiler.Trigger(name='audit', sql=partners.db.triggers.PermanentTriggerSql(func="\n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> 'staff', context ->> 'by', context ->> 'operator', context ->> 'partner', ''), CASE WHEN context ? 'staff' THEN 'staff' WHEN context ? 'by' THEN 'staff' WHEN context ? 'operator' THEN 'operator' WHEN context ? 'partner' THEN 'partner' ELSE '' END, 'requirement.opened', NEW.user_id::text,\n               jsonb_strip_nulls(jsonb_build_object('operator', context ->> 'operator', 'command', context ->> 'command', 'key', context ->> 'key', 'requestId', context ->> 'requestId', 'source', context ->> 'source', 'reason', context ->> 'reason') || jsonb_build_object('requirement', NEW.id, 'code', NEW.code, 'fields', array_to_string(NEW.fields, ', '), 'message', nullif(NEW.message, ''), 'dueInDays', NEW.due_in_days) || coalesce((\n    SELECT jsonb_build_object('partner', p.slug, 'externalId', u.external_id)\n      FROM users_user u JOIN partners_partner p ON p.id = u.partner_id WHERE u.id = NEW.user_id), '{}'))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}'), '{}') || jsonb_strip_nulls(jsonb_build_object('staff', (SELECT username FROM users_staff WHERE id = NEW.by_id)))\n                    AS context) AS given\n         WHERE context ->> 'staff' <> 'sandbox'\n    ; RETURN NULL;", hash='0beec33ac47173aea799b215b3c960d7ffa8f2d9', operation='INSERT', pgid='pgtrigger_audit_4d944', table='users_requirement', when='AFTER')),
                pgtrigger.compiler.Trigger(name='closes_once', sql=partners.db.triggers.FunctionTriggerSql(execute='users_requirement_closes_once()', func="CREATE OR REPLACE FUNCTION users_requirement_closes_once() RETURNS trigger\nLANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$\nBEGIN\n    IF OLD.closed_at IS NOT NULL OR to_jsonb(OLD) - 'closed_at' <> to_jsonb(NEW) - 'closed_at'\n        OR NEW.closed_at IS DISTINCT FROM (\n            SELECT c.created_at FROM users_requirementclosure c WHERE c.requirement_id = OLD.id) THEN\n        RAISE EXCEPTION 'This table refuses it: its rows are kept for good.'\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    RETURN NEW;\nEND\n$$;\nREVOKE ALL ON FUNCTION users_requirement_closes_once FROM PUBLIC;\n", hash='3ec6b15015d221a8d5cd9dfa03fbdc1f484a80ba', operation='UPDATE', pgid='pgtrigger_closes_once_463f4', table='users_requirement', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='2e14981973714fb1d5faa6d01e017e098a32622f', operation='DELETE', pgid='pgtrigger_no_delete_60be5', table='users_requirement', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='992ccaf704dce4e74d7efb7d8ec38d0353be5730', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_336a9', table='users_requirement', when='BEFORE')),
            ],
        ),
        AddTriggers(
            model_name='requirementresponse',
            triggers=[
                pgtrigger.compiler.Trigger(name='of_present', sql=partners.db.triggers.FunctionTriggerSql(execute="users_response_of_present('100')", func="CREATE OR REPLACE FUNCTION users_response_of_present() RETURNS trigger\nLANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$\nDECLARE\n    present users_user%ROWTYPE;\nBEGIN\n    -- Argument: the most answers to a requirement.\n    SELECT u.* INTO present\n      FROM users_requirement r JOIN users_user u ON u.id = r.user_id\n     WHERE r.id = NEW.requirement_id FOR NO KEY UPDATE OF u;\n    IF present.status = 'closed' OR users_requirement_state(NEW.requirement_id) = 'closed' THEN\n        RAISE EXCEPTION 'This requirement is closed.'\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    -- No more rows are read than that.\n    IF (SELECT count(*) FROM (\n            SELECT FROM users_requirementresponse a\n             WHERE a.requirement_id = NEW.requirement_id LIMIT TG_ARGV[0]::integer) AS found)\n        = TG_ARGV[0]::integer THEN\n        RAISE EXCEPTION 'A requirement has at most % answers.', TG_ARGV[0]\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    NEW.created_at := clock_timestamp();\n    NEW.context := coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}');\n    NEW.profile_event := (SELECT max(e.pgh_id) FROM users_userevent e WHERE e.pgh_obj_id = present.id);\n    RETURN NEW;\nEND\n$$;\nREVOKE ALL ON FUNCTION users_response_of_present FROM PUBLIC;\n", hash='221681ac2d9cd27411f9189a021034a02e22585c', operation='INSERT', pgid='pgtrigger_of_present_abcc7', table='users_requirementresponse', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='user_columns', sql=partners.db.triggers.PermanentTriggerSql(func='\n            PERFORM users_refresh_requirements(\n                ARRAY(SELECT r.user_id FROM users_requirement r WHERE r.id = NEW.requirement_id));\n            RETURN NULL;\n        ', hash='4db486fb2dff5a7486e1baa7d69365097eed393f', operation='INSERT', pgid='pgtrigger_user_columns_6fd50', table='users_requirementresponse', when='AFTER')),
                pgtrigger.compiler.Trigger(name='no_update', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='e2952567bc3a4eec27337f40f1c7695d12d908f3', operation='UPDATE', pgid='pgtrigger_no_update_115b0', table='users_requirementresponse', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='a4476216a457a3c56abe4246ac809c30d5198aa4', operation='DELETE', pgid='pgtrigger_no_delete_045b2', table='users_requirementresponse', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='8352c9587a7b123bda0a0756ab141cf40ec74f92', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_22e6a', table='users_requirementresponse', when='BEFORE')),
            ],
        ),
        AddTriggers(
            model_name='staffevent',
            triggers=[
                pgtrigger.compiler.Trigger(name='no_update', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='00b69d1536d8f9771ec629ffe15f7ef3c16cb26b', operation='UPDATE', pgid='pgtrigger_no_update_414dc', table='users_staffevent', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='20c379ce734fbdf9517dc3f886006e8bb6b62ed6', operation='DELETE', pgid='pgtrigger_no_delete_6e629', table='users_staffevent', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='9a65459d73aab188e05e2b480a8d5f56e023dcef', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_89a57', table='users_staffevent', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='audit', sql=partners.db.triggers.PermanentTriggerSql(declare='DECLARE before jsonb; after jsonb;', func='\n            IF NEW.pgh_label = \'delete\' THEN\n                before := to_jsonb(NEW);\n            ELSE\n                after := to_jsonb(NEW);\n                SELECT to_jsonb(earlier) INTO before FROM users_staffevent AS earlier\n                 WHERE pgh_obj_id = NEW.pgh_obj_id AND pgh_id < NEW.pgh_id ORDER BY pgh_id DESC LIMIT 1;\n            END IF;\n            \n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> \'staff\', context ->> \'by\', context ->> \'operator\', context ->> \'partner\', \'\'), CASE WHEN context ? \'staff\' THEN \'staff\' WHEN context ? \'by\' THEN \'staff\' WHEN context ? \'operator\' THEN \'operator\' WHEN context ? \'partner\' THEN \'partner\' ELSE \'\' END, \'staff.\' || CASE NEW.pgh_label WHEN \'insert\' THEN \'created\' WHEN \'update\' THEN \'changed\' ELSE \'removed\' END, NEW.username,\n               jsonb_strip_nulls(jsonb_build_object(\'operator\', context ->> \'operator\', \'command\', context ->> \'command\', \'key\', context ->> \'key\', \'requestId\', context ->> \'requestId\', \'source\', context ->> \'source\', \'reason\', context ->> \'reason\') || jsonb_build_object(\'changes\', (SELECT jsonb_object_agg(name, jsonb_build_array(coalesce(nullif(before -> name, \'""\'), \'null\'), coalesce(nullif(after -> name, \'""\'), \'null\'))) FROM unnest(ARRAY[\'username\', \'email\', \'first_name\', \'last_name\', \'is_active\', \'is_staff\', \'is_superuser\', \'password_is_one_time\', \'is_emergency\']::text[]) AS name\n                    WHERE coalesce(nullif(before -> name, \'""\'), \'null\') IS DISTINCT FROM coalesce(nullif(after -> name, \'""\'), \'null\'))))\n          FROM (SELECT coalesce(NEW.pgh_context, \'{}\') || jsonb_strip_nulls(jsonb_build_object(\'staff\', NULL::text))\n                    AS context) AS given\n         WHERE true\n    ;\n            RETURN NULL;\n        ', hash='f7f7ce94f35d4a27448db447086b57d542606984', operation='INSERT', pgid='pgtrigger_audit_bc773', table='users_staffevent', when='AFTER')),
            ],
        ),
        AddTriggers(
            model_name='statuschange',
            triggers=[
                pgtrigger.compiler.Trigger(name='by_active_staff', sql=partners.db.triggers.PermanentTriggerSql(func="\n            IF NOT EXISTS (SELECT FROM users_staff s WHERE s.id = NEW.by_id AND s.is_active) THEN\n                RAISE EXCEPTION 'An active staff account does this.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='fa2526837b38dff943a41b4ad857909f79c31cd1', operation='INSERT', pgid='pgtrigger_by_active_staff_c87fc', table='users_statuschange', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='moves_from_present', sql=partners.db.triggers.FunctionTriggerSql(execute="users_decision_from_present('pendingCompliance active', 'pendingCompliance rejected', 'active suspended', 'active closed', 'suspended active', 'suspended closed', 'rejected pendingCompliance')", func="CREATE OR REPLACE FUNCTION users_decision_from_present() RETURNS trigger\nLANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$\nBEGIN\n    -- Arguments: the allowed moves, as two statuses with a blank between them.\n    IF NOT NEW.from_status || ' ' || NEW.to_status = ANY (TG_ARGV) THEN\n        RAISE EXCEPTION 'A user does not move between these statuses.'\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    IF NEW.from_status IS DISTINCT FROM (\n        SELECT u.status FROM users_user u WHERE u.id = NEW.user_id FOR NO KEY UPDATE\n    ) THEN\n        RAISE EXCEPTION 'The user is not in the status that this row moves it from.'\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    -- Not the transaction's time: one that began earlier may decide later.\n    SELECT greatest(clock_timestamp(), u.status_since + interval '1 microsecond'),\n           u.waiting_since, u.partner_id, u.is_sandbox\n      INTO NEW.created_at, NEW.waiting_since, NEW.partner_id, NEW.is_sandbox\n      FROM users_user u WHERE u.id = NEW.user_id;\n    RETURN NEW;\nEND\n$$;\nREVOKE ALL ON FUNCTION users_decision_from_present FROM PUBLIC;\n", hash='15a610f29b769e8e746ab2eefde8eb5787c1f040', operation='INSERT', pgid='pgtrigger_moves_from_present_582d4', table='users_statuschange', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='moves_user', sql=partners.db.triggers.PermanentTriggerSql(func='\n            UPDATE users_user SET status = NEW.to_status WHERE id = NEW.user_id;\n            RETURN NULL;\n        ', hash='4cfc76338695d22a982467ae4b815e2cf15cd1f4', operation='INSERT', pgid='pgtrigger_moves_user_48603', table='users_statuschange', when='AFTER')),
                pgtrigger.compiler.Trigger(name='audit', sql=partners.db.triggers.PermanentTriggerSql(func="\n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> 'staff', context ->> 'by', context ->> 'operator', context ->> 'partner', ''), CASE WHEN context ? 'staff' THEN 'staff' WHEN context ? 'by' THEN 'staff' WHEN context ? 'operator' THEN 'operator' WHEN context ? 'partner' THEN 'partner' ELSE '' END, 'user.decided', NEW.user_id::text,\n               jsonb_strip_nulls(jsonb_build_object('operator', context ->> 'operator', 'command', context ->> 'command', 'key', context ->> 'key', 'requestId', context ->> 'requestId', 'source', context ->> 'source', 'reason', context ->> 'reason') || jsonb_build_object('changes', jsonb_build_object('status', jsonb_build_array(NEW.from_status, NEW.to_status)), 'reason', NEW.reason, 'reasonCode', nullif(NEW.reason_code, ''), 'commonMaker', nullif(NEW.common_maker, '')) || coalesce((\n    SELECT jsonb_build_object('partner', p.slug, 'externalId', u.external_id)\n      FROM users_user u JOIN partners_partner p ON p.id = u.partner_id WHERE u.id = NEW.user_id), '{}'))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}'), '{}') || jsonb_strip_nulls(jsonb_build_object('staff', (SELECT username FROM users_staff WHERE id = NEW.by_id)))\n                    AS context) AS given\n         WHERE context ->> 'staff' <> 'sandbox'\n    ; RETURN NULL;", hash='d3eb09cd6b3410ad659259a319b14fc181ebfc35', operation='INSERT', pgid='pgtrigger_audit_3eed8', table='users_statuschange', when='AFTER')),
                pgtrigger.compiler.Trigger(name='no_update', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') AND to_jsonb(OLD) - 'basis' = to_jsonb(NEW) - 'basis' THEN RETURN NEW; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='34f49126981debe27e2d62fc95868e54c6d86fc2', operation='UPDATE', pgid='pgtrigger_no_update_945cc', table='users_statuschange', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='15003cc8778fb41eb490069f6d8895f265b8e42a', operation='DELETE', pgid='pgtrigger_no_delete_16ce4', table='users_statuschange', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='75973269d20419de6c242e64875ca9c4ffc637b6', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_79ff3', table='users_statuschange', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='two_people', sql=partners.db.triggers.FunctionTriggerSql(execute='users_decision_two_people()', func="CREATE OR REPLACE FUNCTION users_decision_two_people() RETURNS trigger\nLANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$\nDECLARE\n    present users_user%ROWTYPE;\n    proposal users_proposal%ROWTYPE;\n    ties record;\nBEGIN\n    NEW.common_maker := '';\n    SELECT * INTO present FROM users_user WHERE id = NEW.user_id;\n    IF NOT users_takes_two(NEW.user_id, NEW.to_status) THEN\n        IF NEW.proposal_id IS NOT NULL THEN\n            RAISE EXCEPTION 'This move takes one person: there is no rule for it.'\n            USING ERRCODE = 'integrity_constraint_violation';\n        END IF;\n        RETURN NEW;\n    END IF;\n    SELECT * INTO proposal FROM users_proposal WHERE id = NEW.proposal_id FOR UPDATE;\n    IF NOT FOUND OR proposal.user_id <> NEW.user_id OR proposal.from_status <> NEW.from_status\n        OR proposal.to_status <> NEW.to_status OR NOT users_is_open(\n            proposal.state, proposal.created_at, proposal.user_updated_at, present.updated_at) THEN\n        RAISE EXCEPTION 'This move takes two people: an open proposal of this very move, on the user as it is.'\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    IF proposal.by_id = NEW.by_id OR NOT (users_may_decide(NEW.by_id) AND users_may_decide(proposal.by_id)) THEN\n        RAISE EXCEPTION 'This move takes two people, each with an active account that may decide.'\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    SELECT * INTO ties FROM users_ties(NEW.by_id, proposal.by_id);\n    IF ties.related THEN\n        RAISE EXCEPTION 'This move takes two people: within 30 days neither made, re-roled or reset the other.'\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    IF (NEW.reason, NEW.reason_code) IS DISTINCT FROM (proposal.reason, proposal.reason_code) THEN\n        RAISE EXCEPTION 'This move takes two people, and has the reason of the proposal.'\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    NEW.common_maker := ties.makers;\n    RETURN NEW;\nEND\n$$;\nREVOKE ALL ON FUNCTION users_decision_two_people FROM PUBLIC;\n", hash='6984130be1630cbd63c648c0c8ff2eefc57a6904', operation='INSERT', pgid='pgtrigger_two_people_33b47', table='users_statuschange', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='ends_proposal', sql=partners.db.triggers.PermanentTriggerSql(condition='WHEN (NEW.proposal_id IS NOT NULL)', func="\n            UPDATE users_proposal SET state = 'approved', ended_by_id = NEW.by_id WHERE id = NEW.proposal_id;\n            RETURN NULL;\n        ", hash='732ea105cca81c9849a224513cf9e40b720d257c', operation='INSERT', pgid='pgtrigger_ends_proposal_0f04d', table='users_statuschange', when='AFTER')),
                pgtrigger.compiler.Trigger(name='nothing_open', sql=partners.db.triggers.FunctionTriggerSql(condition="WHEN (NEW.to_status = 'active')", execute='users_decision_nothing_open()', func="CREATE OR REPLACE FUNCTION users_decision_nothing_open() RETURNS trigger\nLANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$\nBEGIN\n    IF (SELECT u.open_requirements FROM users_user u WHERE u.id = NEW.user_id FOR NO KEY UPDATE) > 0 THEN\n        RAISE EXCEPTION 'A user with an open requirement does not become active.'\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    RETURN NEW;\nEND\n$$;\nREVOKE ALL ON FUNCTION users_decision_nothing_open FROM PUBLIC;\n", hash='c7c6dcc10a8418e6558db477af196fd870a3a037', operation='INSERT', pgid='pgtrigger_nothing_open_bc310', table='users_statuschange', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='requirements_end', sql=partners.db.triggers.FunctionTriggerSql(condition="WHEN (NEW.to_status IN ('active', 'rejected', 'closed'))", execute='users_decision_ends_requirements()', func='CREATE OR REPLACE FUNCTION users_decision_ends_requirements() RETURNS trigger\nLANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$\nBEGIN\n    IF (SELECT u.open_requirements + u.answered_requirements FROM users_user u WHERE u.id = NEW.user_id) > 0 THEN\n        INSERT INTO users_requirementclosure (requirement_id, by_id, decision_id)\n        SELECT r.id, NEW.by_id, NEW.id FROM users_requirement r\n         WHERE r.user_id = NEW.user_id AND r.closed_at IS NULL;\n    END IF;\n    RETURN NULL;\nEND\n$$;\nREVOKE ALL ON FUNCTION users_decision_ends_requirements FROM PUBLIC;\n', hash='fba940bf5757c0e5b138d96c1aa1a595059a5e01', operation='INSERT', pgid='pgtrigger_requirements_end_a710f', table='users_statuschange', when='AFTER')),
            ],
        ),
        AddTriggers(
            model_name='userevent',
            triggers=[
                pgtrigger.compiler.Trigger(name='no_update', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='357b1748769a7430d201d543c3737e81902c20ec', operation='UPDATE', pgid='pgtrigger_no_update_02fec', table='users_userevent', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='33a3b14ec526bc8f5f8eb13494675d560362eeec', operation='DELETE', pgid='pgtrigger_no_delete_0a212', table='users_userevent', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='b85b64e638696147a960abbfe1dc9fc25ab65fbf', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_fc49e', table='users_userevent', when='BEFORE')),
            ],
        ),
        AddTriggers(
            model_name='staffrole',
            triggers=[
                pgtrigger.compiler.Trigger(name='insert_insert', sql=partners.db.triggers.PermanentTriggerSql(func='INSERT INTO "users_staffroleevent" ("group_id", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "staff_id") VALUES (NEW."group_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'insert\', NEW."id", NEW."staff_id"); RETURN NULL;', hash='89b50c639820e4ac03aa0805ac0c8aa0f78d3dc0', operation='INSERT', pgid='pgtrigger_insert_insert_8ab9f', table='users_staff_groups', when='AFTER')),
                pgtrigger.compiler.Trigger(name='update_update', sql=partners.db.triggers.PermanentTriggerSql(condition='WHEN (OLD."group_id" IS DISTINCT FROM (NEW."group_id") OR OLD."staff_id" IS DISTINCT FROM (NEW."staff_id"))', func='INSERT INTO "users_staffroleevent" ("group_id", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "staff_id") VALUES (NEW."group_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'update\', NEW."id", NEW."staff_id"); RETURN NULL;', hash='50ba23c642be370effe32bd3e122d1b06709e60b', operation='UPDATE', pgid='pgtrigger_update_update_e3ae9', table='users_staff_groups', when='AFTER')),
                pgtrigger.compiler.Trigger(name='delete_delete', sql=partners.db.triggers.PermanentTriggerSql(func='INSERT INTO "users_staffroleevent" ("group_id", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "staff_id") VALUES (OLD."group_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'delete\', OLD."id", OLD."staff_id"); RETURN NULL;', hash='9aa0f4bc9b609a6f26f35544a1ceb06b6d004337', operation='DELETE', pgid='pgtrigger_delete_delete_8519f', table='users_staff_groups', when='AFTER')),
            ],
        ),
        AddTriggers(
            model_name='claim',
            triggers=[
                pgtrigger.compiler.Trigger(name='time', sql=partners.db.triggers.PermanentTriggerSql(func='NEW.claimed_at := clock_timestamp(); RETURN NEW;', hash='912138f8bb599b3a3c8853432c055674251b27ab', operation='INSERT', pgid='pgtrigger_time_ccbac', table='users_claim', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='by_active_staff', sql=partners.db.triggers.PermanentTriggerSql(func="\n            IF NOT EXISTS (SELECT FROM users_staff s WHERE s.id = NEW.staff_id AND s.is_active) THEN\n                RAISE EXCEPTION 'An active staff account does this.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='b86559e079bae4d913fc60dc2e0d923b875c75f3', operation='INSERT', pgid='pgtrigger_by_active_staff_9c006', table='users_claim', when='BEFORE')),
            ],
        ),
        AddTriggers(
            model_name='holdrelease',
            triggers=[
                pgtrigger.compiler.Trigger(name='time', sql=partners.db.triggers.PermanentTriggerSql(func='NEW.created_at := clock_timestamp(); RETURN NEW;', hash='30640f59ac53d13969afa6170f49141c2d1512b3', operation='INSERT', pgid='pgtrigger_time_054da', table='users_holdrelease', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='by_another', sql=partners.db.triggers.PermanentTriggerSql(func="\n            IF NOT users_may(NEW.by_id, 'keep_records') THEN\n                RAISE EXCEPTION 'An active account that may decide, or audits, does this.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            IF NEW.by_id = (SELECT by_id FROM users_hold WHERE id = NEW.hold_id) THEN\n                RAISE EXCEPTION 'Another person releases a hold than the one who placed it.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='abd3e8e334d84c908a52e24b0090056b61465297', operation='INSERT', pgid='pgtrigger_by_another_38f7c', table='users_holdrelease', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='audit', sql=partners.db.triggers.PermanentTriggerSql(func="\n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> 'staff', context ->> 'by', context ->> 'operator', context ->> 'partner', ''), CASE WHEN context ? 'staff' THEN 'staff' WHEN context ? 'by' THEN 'staff' WHEN context ? 'operator' THEN 'operator' WHEN context ? 'partner' THEN 'partner' ELSE '' END, 'user.released', (SELECT user_id::text FROM users_hold WHERE id = NEW.hold_id),\n               jsonb_strip_nulls(jsonb_build_object('operator', context ->> 'operator', 'command', context ->> 'command', 'key', context ->> 'key', 'requestId', context ->> 'requestId', 'source', context ->> 'source', 'reason', context ->> 'reason') || jsonb_build_object('hold', NEW.hold_id, 'reason', NEW.reason) || coalesce((\n    SELECT jsonb_build_object('partner', p.slug, 'externalId', u.external_id)\n      FROM users_user u JOIN partners_partner p ON p.id = u.partner_id WHERE u.id = (SELECT user_id FROM users_hold WHERE id = NEW.hold_id)), '{}'))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}'), '{}') || jsonb_strip_nulls(jsonb_build_object('staff', (SELECT username FROM users_staff WHERE id = NEW.by_id)))\n                    AS context) AS given\n         WHERE true\n    ; RETURN NULL;", hash='cf79c561769d4a8c836403ae8da9af4de7676404', operation='INSERT', pgid='pgtrigger_audit_e1c9b', table='users_holdrelease', when='AFTER')),
                pgtrigger.compiler.Trigger(name='no_update', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='f9731e0513c728e6ebea5d9689449667e92c1fd2', operation='UPDATE', pgid='pgtrigger_no_update_aa32e', table='users_holdrelease', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='74245149b62b8dff414400e1cbb7eab82f81e772', operation='DELETE', pgid='pgtrigger_no_delete_1516f', table='users_holdrelease', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='31683708468c6300f2088f8171dea64cc0632c8e', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_2f618', table='users_holdrelease', when='BEFORE')),
            ],
        ),
        AddTriggers(
            model_name='requirementclosure',
            triggers=[
                pgtrigger.compiler.Trigger(name='by_active_staff', sql=partners.db.triggers.PermanentTriggerSql(func="\n            IF NOT EXISTS (SELECT FROM users_staff s WHERE s.id = NEW.by_id AND s.is_active) THEN\n                RAISE EXCEPTION 'An active staff account does this.' USING ERRCODE = 'integrity_constraint_violation';\n            END IF;\n            RETURN NEW;\n        ", hash='e984ee83caa35753f334693d8ebac04f21344c65', operation='INSERT', pgid='pgtrigger_by_active_staff_91caf', table='users_requirementclosure', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='of_present', sql=partners.db.triggers.FunctionTriggerSql(execute='users_closure_of_present()', func="CREATE OR REPLACE FUNCTION users_closure_of_present() RETURNS trigger\nLANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$\nBEGIN\n    PERFORM FROM users_requirement r JOIN users_user u ON u.id = r.user_id\n      WHERE r.id = NEW.requirement_id FOR NO KEY UPDATE OF u;\n    -- `requirements_end` closes all of them with the decision: none is left to be closed by it later.\n    IF NEW.decision_id IS NOT NULL AND NOT EXISTS (\n        SELECT FROM users_requirement r JOIN users_statuschange d ON d.user_id = r.user_id\n         WHERE r.id = NEW.requirement_id AND d.id = NEW.decision_id AND d.by_id = NEW.by_id\n           AND d.to_status IN ('active', 'rejected', 'closed') AND d.created_at > r.created_at) THEN\n        RAISE EXCEPTION 'A decision closes what was asked about its user before, in the name of who decided.'\n            USING ERRCODE = 'integrity_constraint_violation';\n    END IF;\n    NEW.created_at := clock_timestamp();\n    RETURN NEW;\nEND\n$$;\nREVOKE ALL ON FUNCTION users_closure_of_present FROM PUBLIC;\n", hash='4ce9034d8619b16fda8e23b226eb33edb7c6a83e', operation='INSERT', pgid='pgtrigger_of_present_1d8ef', table='users_requirementclosure', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='user_columns', sql=partners.db.triggers.PermanentTriggerSql(func="\n            UPDATE users_requirement r SET closed_at = i.created_at FROM inserted i WHERE r.id = i.requirement_id;\n            PERFORM users_refresh_requirements(ARRAY(SELECT r.user_id FROM inserted i JOIN users_requirement r ON r.id = i.requirement_id));\n            \n        INSERT INTO partners_outboxentry (partner_id, type, user_ids, data)\n        SELECT u.partner_id, 'user.requirementsChanged', ARRAY[u.id], jsonb_build_object('externalId', u.external_id, 'userId', u.id, 'openRequirements', u.open_requirements, 'openedRequirementId', NULL::uuid) FROM users_user u WHERE u.id IN (SELECT r.user_id FROM inserted i JOIN users_requirement r ON r.id = i.requirement_id)\n    ;\n            RETURN NULL;\n        ", hash='7e85d098aa69f642b927e80a93222b38727d8525', level='STATEMENT', operation='INSERT', pgid='pgtrigger_user_columns_608f9', referencing='REFERENCING NEW TABLE AS inserted ', table='users_requirementclosure', when='AFTER')),
                pgtrigger.compiler.Trigger(name='audit', sql=partners.db.triggers.PermanentTriggerSql(condition='WHEN (NEW.decision_id IS NULL)', func="\n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> 'staff', context ->> 'by', context ->> 'operator', context ->> 'partner', ''), CASE WHEN context ? 'staff' THEN 'staff' WHEN context ? 'by' THEN 'staff' WHEN context ? 'operator' THEN 'operator' WHEN context ? 'partner' THEN 'partner' ELSE '' END, 'requirement.closed', (SELECT r.user_id::text FROM users_requirement r WHERE r.id = NEW.requirement_id),\n               jsonb_strip_nulls(jsonb_build_object('operator', context ->> 'operator', 'command', context ->> 'command', 'key', context ->> 'key', 'requestId', context ->> 'requestId', 'source', context ->> 'source', 'reason', context ->> 'reason') || jsonb_build_object('requirement', NEW.requirement_id, 'note', nullif(NEW.note, '')) || coalesce((\n    SELECT jsonb_build_object('partner', p.slug, 'externalId', u.external_id)\n      FROM users_user u JOIN partners_partner p ON p.id = u.partner_id WHERE u.id = (SELECT r.user_id FROM users_requirement r WHERE r.id = NEW.requirement_id)), '{}'))\n          FROM (SELECT coalesce(coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}'), '{}') || jsonb_strip_nulls(jsonb_build_object('staff', (SELECT username FROM users_staff WHERE id = NEW.by_id)))\n                    AS context) AS given\n         WHERE context ->> 'staff' <> 'sandbox'\n    ; RETURN NULL;", hash='d910e0fa85f4b2fa5a79d38c578a645537cc6c6f', operation='INSERT', pgid='pgtrigger_audit_df7af', table='users_requirementclosure', when='AFTER')),
                pgtrigger.compiler.Trigger(name='no_update', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='2fb2c710491ca72bf7f3e323fd9db1f4800d8878', operation='UPDATE', pgid='pgtrigger_no_update_ac302', table='users_requirementclosure', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='2c30f6d179c95111f4c53ec1607c2e9fbaa26f76', operation='DELETE', pgid='pgtrigger_no_delete_36961', table='users_requirementclosure', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='33c64bbf46f9e345e31f8f1ef0ebb296d22f197c', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_16833', table='users_requirementclosure', when='BEFORE')),
            ],
        ),
        AddTriggers(
            model_name='staffroleevent',
            triggers=[
                pgtrigger.compiler.Trigger(name='no_update', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='6c1151862da93d87767d9d0f21bbfe0ac05d9927', operation='UPDATE', pgid='pgtrigger_no_update_a5794', table='users_staffroleevent', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_delete', sql=partners.db.triggers.PermanentTriggerSql(func="\n    IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM users_erasure WHERE rows = '{}') THEN RETURN OLD; END IF;\n    RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='a640f7095dadfb670647634872adaa023d464690', operation='DELETE', pgid='pgtrigger_no_delete_229cf', table='users_staffroleevent', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='no_truncate', sql=partners.db.triggers.PermanentTriggerSql(func="RAISE EXCEPTION 'This table refuses it: its rows are kept for good.' USING ERRCODE = 'integrity_constraint_violation';", hash='dae7c6b535e4c48e8ee494167bcc0f99af5b1fac', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_9e7fa', table='users_staffroleevent', when='BEFORE')),
                pgtrigger.compiler.Trigger(name='audit', sql=partners.db.triggers.PermanentTriggerSql(declare='DECLARE before jsonb; after jsonb;', func='\n            IF NEW.pgh_label = \'delete\' THEN\n                before := to_jsonb(NEW);\n            ELSE\n                after := to_jsonb(NEW);\n                SELECT to_jsonb(earlier) INTO before FROM users_staffroleevent AS earlier\n                 WHERE pgh_obj_id = NEW.pgh_obj_id AND pgh_id < NEW.pgh_id ORDER BY pgh_id DESC LIMIT 1;\n            END IF;\n            \n        INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)\n        SELECT coalesce(context ->> \'staff\', context ->> \'by\', context ->> \'operator\', context ->> \'partner\', \'\'), CASE WHEN context ? \'staff\' THEN \'staff\' WHEN context ? \'by\' THEN \'staff\' WHEN context ? \'operator\' THEN \'operator\' WHEN context ? \'partner\' THEN \'partner\' ELSE \'\' END, \'staffRole.\' || CASE NEW.pgh_label WHEN \'insert\' THEN \'created\' WHEN \'update\' THEN \'changed\' ELSE \'removed\' END, (SELECT username FROM users_staff WHERE id = NEW.staff_id),\n               jsonb_strip_nulls(jsonb_build_object(\'operator\', context ->> \'operator\', \'command\', context ->> \'command\', \'key\', context ->> \'key\', \'requestId\', context ->> \'requestId\', \'source\', context ->> \'source\', \'reason\', context ->> \'reason\') || jsonb_build_object(\'role\', (SELECT name FROM auth_group WHERE id = NEW.group_id), \'changes\', (SELECT jsonb_object_agg(name, jsonb_build_array(coalesce(nullif(before -> name, \'""\'), \'null\'), coalesce(nullif(after -> name, \'""\'), \'null\'))) FROM unnest(ARRAY[]::text[]) AS name\n                    WHERE coalesce(nullif(before -> name, \'""\'), \'null\') IS DISTINCT FROM coalesce(nullif(after -> name, \'""\'), \'null\'))))\n          FROM (SELECT coalesce(NEW.pgh_context, \'{}\') || jsonb_strip_nulls(jsonb_build_object(\'staff\', NULL::text))\n                    AS context) AS given\n         WHERE true\n    ;\n            RETURN NULL;\n        ', hash='11b87c72e820d200fca3451bcc8346442f005d1b', operation='INSERT', pgid='pgtrigger_audit_f28e2', table='users_staffroleevent', when='AFTER')),
            ],
        ),
        # Written by hand. Django makes this table by a command of its own.
        migrations.RunSQL(CREATE_CACHE, "DROP TABLE staff_cache"),
        CreateFunctions(SQL / "users_meets.sql"),
        CreateFunctions(SQL / "users_takes_two.sql"),
        CreateFunctions(SQL / "users_may_decide.sql"),
        CreateFunctions(SQL / "users_ties.sql"),
        CreateFunctions(SQL / "users_is_open.sql"),
        CreateFunctions(SQL / "users_requirement_state.sql"),
        CreateFunctions(SQL / "users_postal_code_fits.sql", postal_codes),
        CreateFunctions(SQL / "users_rule_changes.sql"),
        CreateFunctions(SQL / "users_refresh_requirements.sql"),
        *(set_storage(table, parameters) for table, parameters in STORAGE.items()),
    ]
