from django.db import migrations

# Each takes SHARE UPDATE EXCLUSIVE, which neither reads nor writes wait for. A page that is full already stays so
# until its rows have moved. Why these numbers: docs/scaling.md.
PARAMETERS = {
    "users_user": {
        "fillfactor": 90,
        "autovacuum_vacuum_scale_factor": 0.02,
        "autovacuum_analyze_scale_factor": 0.02,
    },
    "users_userevent": {"autovacuum_vacuum_insert_scale_factor": 0.02, "autovacuum_analyze_scale_factor": 0.02},
    "users_statuschange": {"autovacuum_vacuum_insert_scale_factor": 0.02, "autovacuum_analyze_scale_factor": 0.02},
}


def _storage(table: str, parameters: dict[str, float]) -> migrations.RunSQL:
    given = ", ".join(f"{name} = {value}" for name, value in parameters.items())
    return migrations.RunSQL(f"ALTER TABLE {table} SET ({given})", f"ALTER TABLE {table} RESET ({', '.join(parameters)})")


class Migration(migrations.Migration):
    dependencies = [
        ("users", "0001_initial"),
    ]

    operations = [_storage(table, parameters) for table, parameters in PARAMETERS.items()]
