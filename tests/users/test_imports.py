"""What import-linter cannot say: of an external package it forbids the whole or nothing."""

import ast
from pathlib import Path

import pytest

import users

FILES = [path for name in ("services", "models") for path in Path(users.__path__[0], name).glob("*.py")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_rules_and_models_import_neither_requests_nor_forms(path: Path) -> None:
    imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    assert not {node.module for node in imports} & {"django.http", "django.forms", "django.shortcuts"}
    assert not {name.name for node in imports if node.module == "django" for name in node.names} & {"http", "forms"}
