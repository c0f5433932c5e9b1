import django.db.models.functions.comparison
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # Indexes are built while others write.
    atomic = False

    dependencies = [
        ('partners', '0009_bounded'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='apikey',
            index=models.Index(django.db.models.functions.comparison.Least('revoked_at', 'expires_at'), name='api_key_ended'),
        ),
        AddIndexConcurrently(
            model_name='auditentry',
            index=models.Index(condition=models.Q(('actor_kind', 'partner')), fields=['at'], name='audit_of_partners'),
        ),
    ]
