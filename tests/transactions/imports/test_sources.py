"""Files that are in another format, damaged or endless."""

import gzip
import json
from pathlib import Path

from partners.models import Partner
from tests.transactions.imports.running import Line, Result, ndjson, stored


def test_of_another_format_each_line_is_rejected(tmp_path: Path, line: Line, committed_partner: Partner) -> None:
    lines = [line(1), line(2)]
    formats = {
        "gzip": gzip.compress(ndjson(*lines)),
        "utf-16": ndjson(*lines).decode().encode("utf-16"),
        "array": json.dumps(lines).encode(),
        "csv": b"partner,externalId,conversionId\nacme,cust-1,cv-1\n",
        "endless": b"\0" * 10_000_000,
    }
    for name, content in formats.items():
        (tmp_path / "f").write_bytes(content)
        result = Result(tmp_path / "f")
        assert (result.status, result.counts[0]) == (1, 0), name
        assert all("not a JSON object in UTF-8" in error or "longer than" in error for error in result.errors), name
    assert stored(committed_partner) == set()


def test_a_file_without_lines_is_imported(tmp_path: Path, line: Line) -> None:
    for content in (b"", b"\n", b"\r\n\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"):
        (tmp_path / "f").write_bytes(content)
        result = Result(tmp_path / "f")
        assert (result.counts, result.status) == ((0, 0, 0), 0), content


def test_a_byte_order_mark_at_the_beginning_is_no_part_of_the_first_line(tmp_path: Path, line: Line) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbf" + ndjson(line(1)).replace(b"\n", b"\r\n"))
    assert Result(tmp_path / "f").counts == (1, 0, 0)


def test_blank_lines_count_in_line_numbers(tmp_path: Path, line: Line) -> None:
    long = b"{" + b"b" * (3 * 1024 * 1024)
    (tmp_path / "f").write_bytes(b"\n\r\n{\n \n" + long + b"\n\n" + long)
    result = Result(tmp_path / "f")
    assert result.errors == [
        "line 3: not a JSON object in UTF-8",
        *(f"line {number}: longer than 65536 bytes, only its beginning was read" for number in (5, 7)),
    ]


def test_a_line_has_up_to_64_kib_without_its_end(tmp_path: Path, line: Line) -> None:
    for length, reason in ((65_536, "not a JSON object in UTF-8"), (65_537, "longer than 65536")):
        for end in (b"", b"\n", b"\r\n"):
            (tmp_path / "f").write_bytes(b"{" + b"x" * (length - 1) + end)
            [error] = Result(tmp_path / "f").errors
            assert error.startswith(f"line 1: {reason}"), (length, end)
