from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ('users', '0002_second_factors'),
    ]

    operations = [
        migrations.AddField(
            model_name='user',
            name='early_conversion_at',
            field=models.DateTimeField(editable=False, null=True, verbose_name='conversion older than the user'),
        ),
        migrations.AddField(
            model_name='user',
            name='inactive_conversion_at',
            field=models.DateTimeField(editable=False, null=True, verbose_name='conversion while not active'),
        ),
    ]
