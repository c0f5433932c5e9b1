from django.db import migrations, models

# What Django's DatabaseCache expects (`createcachetable`).
CREATE = """
    CREATE TABLE staff_cache (
        cache_key varchar(255) PRIMARY KEY,
        value text NOT NULL,
        expires timestamp with time zone NOT NULL
    );
    CREATE INDEX staff_cache_expires ON staff_cache (expires);
"""


class Migration(migrations.Migration):
    """What the door needs: which passwords are for one time, and counts of failed logins that all processes see."""

    dependencies = [
        ('users', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='staff',
            name='password_is_one_time',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.RunSQL(CREATE, 'DROP TABLE staff_cache'),
    ]
