import partners.db.triggers
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('transactions', '0001_initial'),
        ('users', '0003_conversion_flags'),
    ]

    operations = [
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='unexpected', sql=partners.db.triggers.PermanentTriggerSql(func="\n                    WITH recorded AS (SELECT user_id, min(created_at) AS oldest FROM inserted GROUP BY user_id),\n                    unexpected AS (\n                        SELECT u.id, u.status <> 'active' AS inactive, r.oldest < u.created_at AS early\n                          FROM users_user u JOIN recorded r ON r.user_id = u.id\n                         WHERE u.status <> 'active' OR r.oldest < u.created_at AND u.early_conversion_at IS NULL\n                         ORDER BY u.id FOR NO KEY UPDATE OF u)\n                    UPDATE users_user u\n                       SET inactive_conversion_at = CASE WHEN x.inactive THEN clock_timestamp()\n                                                         ELSE u.inactive_conversion_at END,\n                           early_conversion_at = coalesce(u.early_conversion_at,\n                                                          CASE WHEN x.early THEN clock_timestamp() END)\n                      FROM unexpected x WHERE u.id = x.id;\n                    RETURN NULL;\n                ", hash='4b5f5aff30e4ac42127b6a614ec69b584003e101', level='STATEMENT', operation='INSERT', pgid='pgtrigger_unexpected_b9a1a', referencing='REFERENCING NEW TABLE AS inserted ', table='transactions_conversion', when='AFTER')),
        ),
    ]
