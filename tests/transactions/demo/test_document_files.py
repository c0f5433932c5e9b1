"""The demo's documents."""

import re

from transactions.demo.document_files import pdf


def test_a_page_is_where_its_index_says() -> None:
    made = pdf(("One", "Two"))
    place = int(re.findall(rb"startxref\n(\d+)\n%%EOF\n$", made)[0])
    assert made[place:].startswith(b"xref\n0 6\n")
    places = [int(found) for found in re.findall(rb"(\d{10}) 00000 n \n", made)]
    assert [made[at:].split(b" ", 1)[0] for at in places] == [b"1", b"2", b"3", b"4", b"5"]
    length, stream = re.findall(rb"/Length (\d+) >>\nstream\n(.*)\nendstream", made)[0]
    assert int(length) == len(stream)
