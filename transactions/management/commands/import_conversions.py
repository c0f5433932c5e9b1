from collections.abc import Mapping

from core.management.arguments import DRY_RUN
from transactions import imports
from transactions.management import FILE, REJECTS, LinesCommand


class Command(LinesCommand):
    help = (
        "Import conversions from NDJSON, one a line. For a compressed file: zcat FILE | manage.py import_conversions -"
        " Exit status 1 if any line was rejected or the import could not be finished."
    )
    arguments = (FILE, REJECTS, DRY_RUN)
    batch_lines = 5000
    parse = staticmethod(imports.parse_conversion)

    def store(self, records: Mapping[int, imports.Row]) -> tuple[int, Mapping[int, str]]:
        return imports.store(records, is_dry_run=self.is_dry_run)
