"""How imports go, for metrics: read at each scrape, whichever machine they run on."""

from prometheus_client.core import GaugeMetricFamily, Metric

from partners.monitoring.probes import Session

# The latest by number, which an index has. A killed import stays `running`; after ten minutes it is left out.
_RUNS = """
    SELECT id::text, kind, state, state = 'running' AND updated_at > now() - interval '10 minutes',
           bytes_read::float8 / nullif(size_bytes, 0), imported, unchanged, rejected,
           extract(epoch FROM ended_at)::float8
      FROM transactions_importrun ORDER BY id DESC LIMIT 200
"""


def imports(database: Session) -> list[Metric]:
    """The lines and the progress of each import under way, and when the latest ended in each way."""
    lines = GaugeMetricFamily("psi_import_lines", "Lines of imports under way.", labels=["run", "outcome"])
    progress = GaugeMetricFamily(
        "psi_import_progress_ratio", "How much of its file an import has read.", labels=["run"]
    )
    ended = GaugeMetricFamily(
        "psi_import_ended_timestamp_seconds", "When an import last ended so.", labels=["kind", "state"]
    )
    last: dict[tuple[str, str], float] = {}
    for run, kind, state, is_running, share, *counts, ended_at in database.execute(_RUNS).fetchall():
        if ended_at is not None:
            last[kind, state] = max(ended_at, last.get((kind, state), 0.0))
        if not is_running:
            continue
        for outcome, number in zip(("imported", "unchanged", "rejected"), counts, strict=True):
            lines.add_metric([run, outcome], number)
        if share is not None:
            progress.add_metric([run], share)
    for labels, seconds in last.items():
        ended.add_metric([*labels], seconds)
    return [lines, progress, ended]
