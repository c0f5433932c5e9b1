"""PDFs of one page."""

import re

from transactions.documents.file_types import pdf


def test_the_objects_of_a_pdf_begin_where_its_table_says() -> None:
    file = pdf(("One", "Two"))
    table = int(re.findall(rb"startxref\n(\d+)\n%%EOF\n$", file)[0])
    assert file[table:].startswith(b"xref\n0 6\n")
    offsets = [int(offset) for offset in re.findall(rb"(\d{10}) 00000 n \n", file)]
    assert [file[offset:].split(b" ", 1)[0] for offset in offsets] == [b"1", b"2", b"3", b"4", b"5"]
    length, stream = re.findall(rb"/Length (\d+) >>\nstream\n(.*)\nendstream", file)[0]
    assert int(length) == len(stream)
