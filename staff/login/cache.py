"""Django's cache in a table, without pickle's code: who writes to the table must not run code in the service."""

import io
import pickle
from base64 import b64decode
from collections.abc import Iterable
from typing import Any, NoReturn

from django.core.cache.backends.db import DatabaseCache

from core.database import statements

# The table of CACHES.
_FIND = "SELECT cache_key, value FROM staff_cache WHERE cache_key = ANY(%s) AND expires > statement_timestamp()"


class PlainDatabaseCache(DatabaseCache):
    """Values are plain: texts, numbers, booleans, lists and dictionaries."""

    def get_many(self, keys: Iterable[Any], version: int | None = None) -> dict[Any, Any]:
        """The values of these keys. Raises UnpicklingError for one that is not plain."""
        given = {self.make_and_validate_key(key, version=version): key for key in keys}
        rows = statements.fetch_all(_FIND, (list(given),))
        return {given[key]: _PlainUnpickler(io.BytesIO(b64decode(value))).load() for key, value in rows}


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> NoReturn:
        """Refuse every class and function."""
        raise pickle.UnpicklingError(f"{module}.{name} in the cache")
