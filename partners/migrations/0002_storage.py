from django.db import migrations

# Each takes SHARE UPDATE EXCLUSIVE, which neither reads nor writes wait for. A page that is full already stays so
# until its rows have moved. Why these numbers: docs/scaling.md.
PARAMETERS = {
    # Purged by the day.
    "partners_idempotencyrecord": {"autovacuum_vacuum_scale_factor": 0.05},
    "partners_usedsignature": {"autovacuum_vacuum_scale_factor": 0.05},
    # A column without an index, again and again.
    "partners_apikey": {"fillfactor": 50},
}


def _storage(table: str, parameters: dict[str, float]) -> migrations.RunSQL:
    given = ", ".join(f"{name} = {value}" for name, value in parameters.items())
    return migrations.RunSQL(f"ALTER TABLE {table} SET ({given})", f"ALTER TABLE {table} RESET ({', '.join(parameters)})")


class Migration(migrations.Migration):
    dependencies = [
        ("partners", "0001_initial"),
    ]

    operations = [_storage(table, parameters) for table, parameters in PARAMETERS.items()]
