import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.functions.text
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # Indexes are built while others write.
    atomic = False

    dependencies = [
        ('partners', '0003_feed_functions'),
        ('users', '0003_second_factors'),
    ]

    operations = [
        migrations.AddField(
            model_name='user',
            name='name_key',
            field=models.TextField(editable=False, null=True, verbose_name='folded name'),
        ),
        migrations.AddField(
            model_name='user',
            name='name_words',
            field=django.contrib.postgres.search.SearchVectorField(editable=False, null=True, verbose_name='words of the name'),
        ),
        AddIndexConcurrently(
            model_name='user',
            index=models.Index(models.F('is_sandbox'), django.contrib.postgres.indexes.OpClass(models.Func(django.db.models.functions.text.Lower('email'), models.Value('@'), models.Value(2), function='SPLIT_PART', output_field=models.TextField()), 'text_pattern_ops'), name='user_email_domain'),
        ),
        AddIndexConcurrently(
            model_name='user',
            index=models.Index(models.F('is_sandbox'), django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Lower('external_id', template='%(function)s(%(expressions)s COLLATE "C")'), 'text_pattern_ops'), name='user_external_id_any_case'),
        ),
        AddIndexConcurrently(
            model_name='user',
            index=models.Index(fields=['is_sandbox', 'date_of_birth', 'name_key'], name='user_birth_and_name'),
        ),
        AddIndexConcurrently(
            model_name='user',
            index=django.contrib.postgres.indexes.GinIndex(condition=models.Q(('is_sandbox', False)), fields=['name_words'], name='user_folded_words'),
        ),
        AddIndexConcurrently(
            model_name='user',
            index=django.contrib.postgres.indexes.GinIndex(condition=models.Q(('is_sandbox', True)), fields=['name_words'], name='user_folded_words_sandbox'),
        ),
        RemoveIndexConcurrently(
            model_name='user',
            name='user_external_id_prefix',
        ),
        RemoveIndexConcurrently(
            model_name='user',
            name='user_name_and_birth',
        ),
        RemoveIndexConcurrently(
            model_name='user',
            name='user_name_words',
        ),
        RemoveIndexConcurrently(
            model_name='user',
            name='user_name_words_sandbox',
        ),
    ]
