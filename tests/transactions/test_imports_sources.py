"""What is imported may be packed, damaged or endless: what is good in it comes in, and the rest is said."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from django.conf import settings

from partners.models import Partner
from tests.transactions.imports import Line, Result, last_run, manage, ndjson, stored
from transactions import imports
from transactions.sources import Source, SourceProblem

MIB = 1024 * 1024


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


PACKERS = {"gzip": gzip.compress, "zstd": zstd}
SKIPPABLE_FRAME = b"\x5a\x2a\x4d\x18\x04\x00\x00\x00what"
Pack = Callable[[bytes], bytes]


@pytest.fixture(params=list(PACKERS.values()), ids=list(PACKERS))
def pack(request: pytest.FixtureRequest) -> Pack:
    return request.param  # type: ignore[no-any-return]


def numbered(path: Path) -> list[tuple[int, bytes]]:
    with Source(str(path)) as source:
        return [line for line in source.lines() if line]


def test_packed_lines_are_imported_whatever_the_name(
    tmp_path: Path, line: Line, committed_partner: Partner, pack: Pack
) -> None:
    (tmp_path / "plain.ndjson").write_bytes(pack(ndjson(*(line(n) for n in range(1000)))))
    assert Result(tmp_path / "plain.ndjson").counts == (1000, 0, 0)
    assert len(stored(committed_partner)) == 1000


def test_packed_standard_input_is_read(line: Line, pack: Pack) -> None:
    out, err = manage("import_conversions", "-", "--json").communicate(pack(ndjson(line(1), line(2))))
    assert (json.loads(out)["imported"], err) == (2, b"")


def test_parts_packed_one_after_the_other_are_one_file(tmp_path: Path, pack: Pack) -> None:
    # Some pack in blocks, on several processors; a line may begin in one and end in the next.
    (tmp_path / "f").write_bytes(pack(b"a\nb") + pack(b"") + pack(b"c\nd"))
    assert numbered(tmp_path / "f") == [(1, b"a"), (2, b"bc"), (3, b"d")]


def test_zeros_behind_gzip_and_frames_to_be_skipped_are_no_matter(tmp_path: Path) -> None:
    (tmp_path / "padded").write_bytes(gzip.compress(b"a\n") + bytes(1000) + gzip.compress(b"b\n") + bytes(3))
    (tmp_path / "framed").write_bytes(SKIPPABLE_FRAME + zstd(b"a\n") + SKIPPABLE_FRAME + zstd(b"b\n"))
    assert numbered(tmp_path / "padded") == numbered(tmp_path / "framed") == [(1, b"a"), (2, b"b")]


def test_what_is_cut_off_is_an_error_and_what_came_before_stays(
    tmp_path: Path, line: Line, committed_partner: Partner, pack: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH", 1_000)
    lines = [line(n, rate=f"0.{n * 7919 % 999983:06d}7") for n in range(5_000)]
    packed = pack(ndjson(*lines))
    (tmp_path / "f").write_bytes(packed[: len(packed) // 2])
    result = Result(tmp_path / "f")
    assert result.status == 1
    assert result.reason.startswith("The source cannot be read on: the ")
    assert "end too early" in result.reason
    imported, unchanged, rejected = result.counts
    assert 0 < imported < 5_000
    # The line in which it was cut off is no line, and so not rejected.
    assert (unchanged, rejected) == (0, 0)
    assert len(stored(committed_partner)) == imported
    assert (last_run().state, last_run().imported, last_run().line) == ("failed", imported, imported)
    (tmp_path / "f").write_bytes(packed)
    assert Result(tmp_path / "f").counts == (5_000 - imported, imported, 0)


def test_a_wrong_checksum_is_an_error(tmp_path: Path) -> None:
    checked = zstandard.ZstdCompressor(write_checksum=True).compress(b"line\n" * 1000)
    for packed in (gzip.compress(b"line\n" * 1000)[:-8] + bytes(8), checked[:-4] + bytes(4)):
        (tmp_path / "f").write_bytes(packed)
        with pytest.raises(SourceProblem, match="damaged"):
            numbered(tmp_path / "f")


@pytest.mark.parametrize(("first", "name"), [(b"PK\x03\x04", "zip"), (b"BZh9", "bzip2"), (b"\xfd7zXZ\x00", "xz")])
def test_other_packings_are_named(tmp_path: Path, line: Line, first: bytes, name: str) -> None:
    (tmp_path / "f").write_bytes(first + bytes(100))
    result = Result(tmp_path / "f")
    assert (result.counts, result.status) == ((0, 0, 0), 1)
    assert f"packed with {name};" in result.reason


@pytest.mark.parametrize("content", [b"", b"\n", b"\r\n\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_a_file_without_lines_is_imported(tmp_path: Path, line: Line, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    result = Result(tmp_path / "f")
    assert (result.counts, result.status) == ((0, 0, 0), 0)


def test_a_byte_order_mark_at_the_beginning_is_no_part_of_the_first_line(tmp_path: Path, line: Line) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbf" + ndjson(line(1)).replace(b"\n", b"\r\n"))
    assert Result(tmp_path / "f").counts == (1, 0, 0)


def test_numbers_count_every_line(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\n\r\na\n \n" + b"b" * (3 * MIB) + b"\n\n" + b"c" * (3 * MIB))
    found = numbered(tmp_path / "f")
    assert [(number, line[:1]) for number, line in found] == [(3, b"a"), (5, b"b"), (7, b"c")]
    assert [len(line) for _, line in found] == [1, 65_537, 65_537]


PEAK = """
import resource, sys
from transactions import imports
from transactions.sources import Source
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with Source(sys.argv[1]) as source:
    lines = sum(1 for line in source.lines() if line)
print(lines, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize("content", [b"\0", b"{}" * 511 + b" \n"], ids=["a line without end", "many lines"])
def test_what_unpacks_to_a_thousand_times_its_size_is_never_held(tmp_path: Path, pack: Pack, content: bytes) -> None:
    (tmp_path / "bomb").write_bytes(pack(content * (16 * MIB // len(content))) * 4)
    django = "import django; django.setup()\n"
    told = subprocess.run(
        [sys.executable, "-c", django + PEAK, str(tmp_path / "bomb")],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        check=True,
    )
    lines, mebibytes = map(int, told.stdout.split())
    assert lines == (1 if content == b"\0" else 4 * 16 * 1024)
    assert mebibytes < 48
