from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # Indexes are built while others write.
    atomic = False

    dependencies = [
        ('users', '0014_bounded'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='requirement',
            index=models.Index(condition=models.Q(('closed_at', None)), fields=['user', 'created_at', 'id'], name='requirement_not_closed'),
        ),
    ]
