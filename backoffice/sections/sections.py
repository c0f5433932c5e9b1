"""What the case page and the evidence pack show as a section: a list of a user's rows."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from users.models import User


class UnreadableFileError(Exception):
    """A file cannot be read whole. code: why, without anything personal."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """The file of a row. row_id: the row's under `file_key`. chunks: its bytes; raises UnreadableFileError."""

    row_id: str
    name: str
    size_bytes: int
    chunks: Callable[[], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class Section:
    """A list of a user's rows, newest first.

    name: its key in the evidence pack's data.json. permission: required to see it on the case page.
    latest: the cells of at most `count` rows, read in one statement. records: all rows, streamed, as the API has them.
    changelist: URL name of the admin's list, which takes `?user=`. files: those of all rows, for the evidence packs of
    those who have `files_permission`, and by the id of the request; `file_key`: which field of a record has `row_id`.
    words: labels of the codes in the records, by field.
    """

    name: str
    title: Any
    permission: str
    headings: Sequence[Any]
    latest: Callable[[User, int], Sequence[Sequence[Any]]]
    records: Callable[[User], Iterable[Mapping[str, Any]]]
    changelist: str
    files: Callable[[User, str], Iterable[AttachedFile]] | None = None
    files_permission: str = ""
    file_key: str = ""
    words: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
