from django.contrib.postgres.operations import AddIndexConcurrently, ValidateConstraint
from django.db import migrations, models


class Migration(migrations.Migration):
    # Indexes are built while others write.
    atomic = False

    dependencies = [
        ('partners', '0007_records_end'),
    ]

    operations = [
        ValidateConstraint(
            model_name='event',
            name='event_type_known',
        ),
        ValidateConstraint(
            model_name='outboxentry',
            name='outbox_type_known',
        ),
        AddIndexConcurrently(
            model_name='event',
            index=models.Index(fields=['user_id'], name='event_of_user'),
        ),
    ]
