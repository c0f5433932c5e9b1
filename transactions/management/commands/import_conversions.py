from collections.abc import Sequence

from core.management.arguments import DRY_RUN
from transactions.imports import LineError, parse_conversion, store
from transactions.management import REJECTS, LinesCommand, lines_file


class Command(LinesCommand):
    help = (
        "Import conversions from NDJSON, one a line. For a compressed file: zcat FILE | manage.py import_conversions -"
        " Exit status 1 if any line was rejected or the import could not be finished."
    )

    arguments = (lines_file("FILE"), REJECTS, DRY_RUN)
    batch_lines = 5000

    def store(self, lines: Sequence[tuple[int, bytes]]) -> tuple[int, dict[int, str]]:
        rows, reasons = [], dict[int, str]()
        for number, line in lines:
            try:
                rows.append(parse_conversion(number, line))
            except LineError as error:
                reasons[number] = str(error)
        imported, rejected = store(rows, is_dry_run=self.is_dry_run) if rows else (0, {})
        return imported, reasons | rejected
