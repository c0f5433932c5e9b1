from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # Indexes are built while others write.
    atomic = False

    dependencies = [
        ('users', '0012_two_people'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='statuschange',
            index=models.Index(condition=models.Q(('common_maker', ''), _negated=True), fields=['created_at'], name='status_change_of_one_maker'),
        ),
        AddIndexConcurrently(
            model_name='userevent',
            index=models.Index(condition=models.Q(('is_ciro_affiliate', True)), fields=['pgh_obj', 'status_since'], name='userevent_affiliate'),
        ),
        AddIndexConcurrently(
            model_name='userevent',
            index=models.Index(condition=models.Q(('country', 'CA'), _negated=True), fields=['pgh_obj', 'status_since'], name='userevent_abroad'),
        ),
    ]
