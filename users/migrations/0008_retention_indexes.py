from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # Indexes are built while others write.
    atomic = False

    dependencies = [
        ('users', '0007_retention'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='requirementclosure',
            index=models.Index(condition=models.Q(('decision__isnull', False)), fields=['decision'], name='closure_of_decision'),
        ),
        AddIndexConcurrently(
            model_name='user',
            index=models.Index(condition=models.Q(('is_sandbox', False), ('status__in', ('rejected', 'closed'))), fields=['status_since', 'id'], name='user_retention'),
        ),
    ]
