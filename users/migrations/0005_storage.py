from django.db import migrations

# Each takes SHARE UPDATE EXCLUSIVE, which neither reads nor writes wait for. A page that is full already stays so
# until its rows have moved. Why these numbers: docs/scaling.md.
_APPENDED = "autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02"
_APPENDED_NAMES = "autovacuum_vacuum_insert_scale_factor, autovacuum_analyze_scale_factor"


def _storage(table: str, parameters: str, names: str) -> migrations.RunSQL:
    return migrations.RunSQL(f"ALTER TABLE {table} SET ({parameters})", f"ALTER TABLE {table} RESET ({names})")


class Migration(migrations.Migration):

    dependencies = [
        ('users', '0004_reviewed_leaves_updated_at'),
    ]

    operations = [
        _storage(
            "users_user",
            "fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02",
            "fillfactor, autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor",
        ),
        _storage("users_userevent", _APPENDED, _APPENDED_NAMES),
        _storage("users_statuschange", _APPENDED, _APPENDED_NAMES),
    ]
