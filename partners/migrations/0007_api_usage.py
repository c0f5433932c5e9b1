import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """One table of usage counters in place of three; no counts are carried over."""

    dependencies = [
        ('partners', '0006_storage'),
    ]

    operations = [
        migrations.DeleteModel(name='AuthenticationTrouble'),
        migrations.DeleteModel(name='ClockSkew'),
        migrations.DeleteModel(name='RequestCount'),
        migrations.CreateModel(
            name='ApiUsage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('hour', models.DateTimeField()),
                ('status', models.PositiveSmallIntegerField()),
                ('replayed', models.BooleanField(default=False)),
                ('failure', models.CharField(blank=True, max_length=40)),
                ('skew_seconds', models.BigIntegerField(null=True)),
                ('count', models.BigIntegerField()),
                ('key', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='partners.apikey')),
                ('partner', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='partners.partner')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('partner', 'hour', 'key', 'status', 'replayed', 'failure', 'skew_seconds'), name='api_usage_unique', nulls_distinct=False)],
                'indexes': [models.Index(fields=['hour'], name='api_usage_hour')],
            },
        ),
        # The rows of the present hour are updated every ten seconds: docs/scaling.md.
        migrations.RunSQL(
            "ALTER TABLE partners_apiusage SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05)",
            migrations.RunSQL.noop,
        ),
    ]
