"""The parameters of every list: contract, section 6."""

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from rest_framework.pagination import BasePagination

from partners.api.errors import FieldError

DEFAULT_LIMIT = 25
HIGHEST_LIMIT = 100
NOT_A_CURSOR = "Must be a nextCursor of this list."

_LIMIT = re.compile(r"0*([0-9]{1,3})")
Start = TypeVar("Start")


class KeysetPagination(BasePagination, Generic[Start]):
    """Reads `cursor` and `limit`. start: what the cursor names; None without one."""

    start: Start | None = None
    limit = DEFAULT_LIMIT

    @abstractmethod
    def parse(self, cursor: str) -> Start | None:
        """What a cursor names; None if it is malformed."""

    def read(self, parameters: Mapping[str, Sequence[str]]) -> list[FieldError]:
        """Read the query parameters; returns their errors."""
        errors = []
        if "cursor" in parameters:
            self.start = self.parse(_single(parameters["cursor"]))
            if self.start is None:
                errors.append(FieldError("cursor", NOT_A_CURSOR))
        if "limit" in parameters:
            match = _LIMIT.fullmatch(_single(parameters["limit"]))
            self.limit = int(match[1]) if match else 0
            if not 1 <= self.limit <= HIGHEST_LIMIT:
                errors.append(FieldError("limit", f"Must be a whole number from 1 to {HIGHEST_LIMIT}."))
        return errors


def _single(values: Sequence[str]) -> str:
    """The value of a parameter that was sent once, otherwise nothing."""
    return values[0] if len(values) == 1 else ""
