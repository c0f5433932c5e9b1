"""The demo's documents."""

import re
from pathlib import Path

import pytest
from django.core.files.storage import storages

from transactions.demo.data import seed
from transactions.demo.papers import USERS_WITH_PAPERS, papers_of, pdf
from transactions.models import Document, DocumentType
from transactions.sending import STORAGE


def test_a_page_is_where_its_index_says() -> None:
    made = pdf(("One", "Two"))
    place = int(re.findall(rb"startxref\n(\d+)\n%%EOF\n$", made)[0])
    assert made[place:].startswith(b"xref\n0 6\n")
    places = [int(found) for found in re.findall(rb"(\d{10}) 00000 n \n", made)]
    assert [made[at:].split(b" ", 1)[0] for at in places] == [b"1", b"2", b"3", b"4", b"5"]
    length, stream = re.findall(rb"/Length (\d+) >>\nstream\n(.*)\nendstream", made)[0]
    assert int(length) == len(stream)


def test_a_user_has_one_of_each_kind_the_same_each_time() -> None:
    assert {paper.kind for paper in papers_of("a")} == set(DocumentType)
    assert list(papers_of("a")) == list(papers_of("a"))


@pytest.mark.django_db
def test_seeding_again_publishes_nothing_anew(folder: Path) -> None:
    seeded = [seed(users=40, conversions=5) for _ in range(2)]
    assert [one.documents for one in seeded] == [4 * USERS_WITH_PAPERS] * 2
    assert all(storages[STORAGE].exists(one.storage_name) for one in Document.objects.all())
