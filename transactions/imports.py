"""Conversions in: NDJSON lines, committed in batches (docs/operations.md).

A batch is copied into a temporary table and inserted from there in one transaction. What was
imported before, by an earlier run or by one beside this one, meets the unique conversionId: the
same content is counted, other content is an error. So a killed import is simply run again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from django.db import connection, transaction

from partners import sql
from partners.models import Partner
from transactions.lines import ImportedConversion, LineProblem, parse_line

BATCH = 5000
MOST_PARTNERS_KEPT = 10_000

_CREATE_STAGING = """
    CREATE TEMPORARY TABLE IF NOT EXISTS staged_conversion (
        line integer, partner_id bigint, external_id text, conversion_id text, created_at timestamptz, type text,
        from_currency text, from_amount text, to_currency text, to_amount text, rate text
    ) ON COMMIT DELETE ROWS
"""
_COPY = "COPY staged_conversion FROM STDIN"
# In one order for all: two imports of the same lines wait for each other and do not deadlock.
_INSERT = """
    INSERT INTO transactions_conversion (partner_id, user_id, conversion_id, created_at, type,
                                         from_currency, from_amount, to_currency, to_amount, rate)
    SELECT s.partner_id, u.id, s.conversion_id, s.created_at, s.type,
           s.from_currency, s.from_amount::numeric, s.to_currency, s.to_amount::numeric, s.rate::numeric
      FROM staged_conversion s JOIN users_user u ON u.partner_id = s.partner_id AND u.external_id = s.external_id
     ORDER BY s.partner_id, s.conversion_id
        ON CONFLICT (partner_id, conversion_id) DO NOTHING
"""
_FIND_REJECTED = """
    SELECT s.line, u.id IS NULL
      FROM staged_conversion s
      LEFT JOIN users_user u ON u.partner_id = s.partner_id AND u.external_id = s.external_id
      LEFT JOIN transactions_conversion c ON c.partner_id = s.partner_id AND c.conversion_id = s.conversion_id
     WHERE u.id IS NULL
        OR (c.user_id, c.created_at, c.type, c.from_currency, c.from_amount::text, c.to_currency,
            c.to_amount::text, c.rate::text)
           IS DISTINCT FROM
           (u.id, s.created_at, s.type, s.from_currency, s.from_amount, s.to_currency, s.to_amount, s.rate)
"""
# A batch is many rows: the limits that keep a request short are not for it.
_ALLOW_TIME = "SELECT set_config('statement_timeout', '5min', true), set_config('lock_timeout', '1min', true)"

UNKNOWN_USER = "the partner has no user with this externalId"
OTHER_CONTENT = "a conversion with this conversionId is there with other content"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that was not imported. number: from 1."""

    number: int
    line: bytes
    reason: str


@dataclass(slots=True)
class Counts:
    """What became of the lines so far. A line is in just one of the three."""

    imported: int = 0
    unchanged: int = 0
    rejected: int = 0


@dataclass
class Importer:
    """Takes lines and writes conversions; constant in memory."""

    counts: Counts = field(default_factory=Counts)
    _partners: dict[str, int | None] = field(default_factory=dict)
    _batch: dict[tuple[int, str], tuple[int, bytes, ImportedConversion]] = field(default_factory=dict)
    # Lines that say what one of the batch says, with that one's number: they share its fate.
    _repeats: list[tuple[int, bytes, int]] = field(default_factory=list)

    def run(self, lines: Iterable[tuple[int, bytes]]) -> Iterator[Rejected]:
        """Imports numbered lines, yielding those that it rejects. Good lines before a failure stay imported."""
        for number, line in lines:
            try:
                conversion = parse_line(line)
                partner_id = self._partner_id(conversion.partner)
            except LineProblem as problem:
                yield self._reject(number, line, str(problem))
                continue
            key = (partner_id, conversion.conversion_id)
            first = self._batch.get(key)
            if first and first[2] == conversion and len(self._repeats) < BATCH:
                self._repeats.append((number, line, first[0]))
                continue
            # Another content under the same conversionId: it is compared with the first, which must be stored by then.
            if first or len(self._batch) >= BATCH:
                yield from self._flush()
            self._batch[key] = (number, line, conversion)
        yield from self._flush()

    def _partner_id(self, slug: str) -> int:
        if slug not in self._partners:
            if len(self._partners) >= MOST_PARTNERS_KEPT:
                self._partners.clear()
            self._partners[slug] = Partner.objects.filter(slug=slug).values_list("id", flat=True).first()
        partner_id = self._partners[slug]
        if partner_id is None:
            raise LineProblem("there is no such partner")
        return partner_id

    def _flush(self) -> Iterator[Rejected]:
        batch, self._batch = self._batch, {}
        repeats, self._repeats = self._repeats, []
        if not batch:
            return
        imported, problems = _store(batch)
        lines = {number: line for number, line, _ in batch.values()} if problems else {}
        for number, line, first in repeats:
            if first in problems:
                problems[number], lines[number] = problems[first], line
        self.counts.imported += imported
        self.counts.unchanged += len(batch) + len(repeats) - imported - len(problems)
        for number in sorted(problems):
            yield self._reject(number, lines[number], problems[number])

    def _reject(self, number: int, line: bytes, reason: str) -> Rejected:
        self.counts.rejected += 1
        return Rejected(number, line, reason)


def _store(batch: dict[tuple[int, str], tuple[int, bytes, ImportedConversion]]) -> tuple[int, dict[int, str]]:
    """Stores a batch in one transaction: how many rows are new, and what is wrong with which line."""
    with transaction.atomic():
        sql.fetch_one(_ALLOW_TIME, ())
        sql.run(_CREATE_STAGING, ())
        with connection.wrap_database_errors, connection.connection.cursor().copy(_COPY) as copy:
            copy.write("".join(_row(number, key[0], c) for key, (number, _, c) in batch.items()))
        imported = sql.run(_INSERT, ())
        if imported == len(batch):
            return imported, {}
        rejected = sql.fetch_all(_FIND_REJECTED, ())
    return imported, {line: UNKNOWN_USER if unknown else OTHER_CONTENT for line, unknown in rejected}


def _row(number: int, partner_id: int, c: ImportedConversion) -> str:
    """A line of COPY's text format. Of what it escapes, only a backslash can be there, in an externalId."""
    external_id = c.external_id.replace("\\", "\\\\")
    return (
        f"{number}\t{partner_id}\t{external_id}\t{c.conversion_id}\t{c.created_at.isoformat()}\t{c.type}\t"
        f"{c.from_currency}\t{c.from_amount}\t{c.to_currency}\t{c.to_amount}\t{c.rate}\n"
    )
