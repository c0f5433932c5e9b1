from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('users', '0005_trails'),
    ]

    operations = [
        ValidateConstraint(model_name='proposal', name='proposal_ended_by_somebody'),
    ]
