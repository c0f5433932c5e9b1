from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """A partner's refusals without those of all others."""

    atomic = False

    dependencies = [
        ('partners', '0003_request_counts'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='authenticationtrouble',
            index=models.Index(fields=['partner', 'hour'], name='trouble_of_partner'),
        ),
    ]
