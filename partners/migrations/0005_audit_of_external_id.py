from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models.fields.json import KeyTextTransform


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('partners', '0004_trails'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='auditentry',
            index=models.Index(KeyTextTransform('externalId', 'detail'), models.F('at'), models.F('id'), name='audit_of_external_id'),
        ),
    ]
