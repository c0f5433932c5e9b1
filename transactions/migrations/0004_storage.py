from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('transactions', '0003_documents'),
    ]

    # SHARE UPDATE EXCLUSIVE, which neither reads nor writes wait for. Why these numbers: docs/scaling.md.
    operations = [
        migrations.RunSQL(
            "ALTER TABLE transactions_conversion SET"
            " (autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.01)",
            "ALTER TABLE transactions_conversion RESET"
            " (autovacuum_vacuum_insert_scale_factor, autovacuum_analyze_scale_factor)",
        ),
    ]
