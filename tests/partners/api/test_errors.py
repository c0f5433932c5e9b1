"""Errors are made where they are raised."""

import ast
import gc
import weakref

import pytest
from django.conf import settings

from partners.api.errors import BadRequestError
from partners.api.views import IdempotencyKeyItem

FILES = [
    path
    for name in ("config", "partners", "users", "transactions")
    for path in (settings.BASE_DIR / name).rglob("*.py")
]


class _Request:
    """Stands for a request, which a traceback would keep."""


def test_a_refused_request_is_not_kept() -> None:
    request = _Request()
    kept = weakref.ref(request)
    with pytest.raises(BadRequestError):
        IdempotencyKeyItem().get(request, "no-uuid")  # type: ignore[arg-type]
    del request
    gc.collect()
    assert kept() is None


def test_no_instance_is_raised_again_and_again() -> None:
    """Each time its traceback would grow, with all frames and what they hold."""
    assert len(FILES) > 100
    for path in FILES:
        raised = [node.exc for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Raise)]
        assert not {one.id for one in raised if isinstance(one, ast.Name) and one.id.isupper()}, path
