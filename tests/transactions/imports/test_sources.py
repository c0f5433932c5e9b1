"""Sources that are compressed, damaged or endless."""

import gzip
import json
import subprocess
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from partners.models import Partner
from tests.transactions.imports.running import Line, Result, manage, ndjson, stored
from transactions.imports.sources import Source

MIB = 1024 * 1024


def numbered(path: Path) -> list[tuple[int, bytes]]:
    with closing(Source(str(path))) as source:
        return [line for line in source.lines() if line]


@pytest.mark.parametrize(
    ("first", "name", "program"),
    [
        (b"\x1f\x8b\x08", "gzip", "zcat"),
        (b"\x28\xb5\x2f\xfd", "zstd", "zstdcat"),
        (b"PK\x03\x04", "zip", "unzip -p"),
        (b"BZh9", "bzip2", "bzcat"),
        (b"\xfd7zXZ\x00", "xz", "xzcat"),
    ],
)
def test_a_compressed_source_is_refused_in_one_line(
    tmp_path: Path, committed_partner: Partner, first: bytes, name: str, program: str
) -> None:
    (tmp_path / "f").write_bytes(first + bytes(100))
    with pytest.raises(CommandError) as refused:
        call_command("import_conversions", str(tmp_path / "f"))
    advice = f"Decompress it: {program} FILE | manage.py import_conversions -"
    assert (str(refused.value), refused.value.returncode) == (f"The source is compressed with {name}. {advice}", 1)


@pytest.mark.parametrize(
    ("encoding", "name"),
    [("utf-16", "UTF-16"), ("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE")],
)
def test_utf_16_is_refused_in_one_line(
    tmp_path: Path, line: Line, committed_partner: Partner, encoding: str, name: str
) -> None:
    (tmp_path / "f").write_bytes(ndjson(line(1), line(2)).decode().encode(encoding))
    with pytest.raises(CommandError) as refused:
        call_command("import_conversions", str(tmp_path / "f"))
    advice = f"Convert it: iconv -f {name} -t UTF-8 FILE | manage.py import_conversions -"
    assert str(refused.value) == f"The source is in UTF-16, not in UTF-8. {advice}"


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b" \n"], ids=ascii)
def test_a_json_array_is_refused_in_one_line(
    tmp_path: Path, line: Line, committed_partner: Partner, start: bytes
) -> None:
    (tmp_path / "f").write_bytes(start + json.dumps([line(1), line(2)], indent=1).encode())
    with pytest.raises(CommandError) as refused:
        call_command("import_conversions", str(tmp_path / "f"))
    advice = "Convert it: jq -c '.[]' FILE | manage.py import_conversions -"
    assert str(refused.value) == f"The source is a JSON array, not one object a line. {advice}"
    assert stored(committed_partner) == set()


def test_a_compressed_file_is_imported_through_zcat(line: Line, tmp_path: Path, committed_partner: Partner) -> None:
    (tmp_path / "f.gz").write_bytes(gzip.compress(ndjson(line(1), line(2))))
    unpacked = subprocess.run(["zcat", str(tmp_path / "f.gz")], capture_output=True, check=True).stdout
    # Without a terminal no bar is shown.
    assert manage("import_conversions", "-").communicate(unpacked) == (b"2 imported, 0 unchanged, 0 rejected.\n", b"")
    assert len(stored(committed_partner)) == 2


@pytest.mark.parametrize("content", [b"", b"\n", b"\r\n\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_a_file_without_lines_is_imported(tmp_path: Path, line: Line, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    result = Result(tmp_path / "f")
    assert (result.counts, result.status) == ((0, 0, 0), 0)


def test_a_byte_order_mark_at_the_beginning_is_no_part_of_the_first_line(tmp_path: Path, line: Line) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbf" + ndjson(line(1)).replace(b"\n", b"\r\n"))
    assert Result(tmp_path / "f").counts == (1, 0, 0)


def test_blank_lines_count_in_line_numbers(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\n\r\na\n \n" + b"b" * (3 * MIB) + b"\n\n" + b"c" * (3 * MIB))
    found = numbered(tmp_path / "f")
    assert [(number, line[:1]) for number, line in found] == [(3, b"a"), (5, b"b"), (7, b"c")]
    assert [len(line) for _, line in found] == [1, 65_537, 65_537]


@pytest.mark.parametrize("content", [b"\0", b"{}" * 511 + b" \n"], ids=["a line without end", "many lines"])
def test_memory_stays_constant(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "large").write_bytes(content * (16 * MIB // len(content)))
    with closing(Source(str(tmp_path / "large"))) as source:
        tracemalloc.start()
        lines = sum(1 for line in source.lines() if line)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert lines == (1 if content == b"\0" else 16 * 1024)
    assert peak < 2 * MIB
