"""How imports go, for metrics: read at each scrape, whichever machine they run on."""

from collections.abc import Iterator

from partners.monitoring.database_gauges import Sample
from partners.monitoring.probes import Session

# The latest by number, which an index has. One that was killed stays `running`, and is not told after a while.
_RUNS = """
    SELECT id::text, state, state = 'running' AND updated_at > now() - interval '10 minutes',
           bytes_read::float8 / nullif(size_bytes, 0), imported, unchanged, rejected,
           extract(epoch FROM ended_at)::float8
      FROM transactions_importrun ORDER BY id DESC LIMIT 200
"""


def imports(database: Session) -> Iterator[Sample]:
    """The lines and the progress of each import under way, and when the latest ended in each way."""
    last: dict[str, float] = {}
    for run, state, is_running, progress, *lines, ended_at in database.execute(_RUNS).fetchall():
        if ended_at is not None:
            last[state] = max(ended_at, last.get(state, 0.0))
        if not is_running:
            continue
        for outcome, number in zip(("imported", "unchanged", "rejected"), lines, strict=True):
            yield Sample("import_lines", "Lines of imports under way.", number, {"run": run, "outcome": outcome})
        if progress is not None:
            yield Sample("import_progress_ratio", "How much of its file an import has read.", progress, {"run": run})
    for state, moment in last.items():
        yield Sample("import_ended_timestamp_seconds", "When an import last ended so.", moment, {"state": state})
