from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ('users', '0003_conversion_flags'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='user',
            index=models.Index(
                condition=models.Q(('inactive_conversion_at__isnull', False)),
                fields=['is_sandbox', 'id'],
                name='user_inactive_conversion',
            ),
        ),
    ]
