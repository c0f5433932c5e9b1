from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """The queue's index with the partner in it, so that the dashboard need not read the table."""

    atomic = False

    dependencies = [
        ('users', '0002_door'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='user',
            index=models.Index(fields=['status', 'status_since', 'id'], include=('partner',), name='user_waiting'),
        ),
        RemoveIndexConcurrently(model_name='user', name='user_status_since'),
    ]
