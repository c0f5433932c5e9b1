"""SQL of a lower app names no table of a higher one: in its folder `sql`, its triggers, and its modules' texts."""

import ast
import re
from collections.abc import Iterator

import pgtrigger
import pytest
from django.apps import apps
from django.conf import settings

# From below. Those above have no models, and name what they like.
APPS = ("core", "partners", "events", "staff", "users", "transactions")
TABLES = re.compile(rf"\b(?:{'|'.join(APPS)})_\w+")


def tables(app: str) -> set[str]:
    models = apps.get_app_config(app).get_models(include_auto_created=True)
    return {model._meta.db_table for model in models if model._meta.db_table.startswith(f"{app}_")}


def texts(app: str) -> Iterator[tuple[str, str]]:
    """The app's SQL, and all else that its modules have as text, each with where it is."""
    folder = settings.BASE_DIR / app
    for file in sorted(folder.rglob("*.sql")):
        yield file.name, file.read_text()
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{file.relative_to(folder)}:{node.lineno}", node.value
    for model, trigger in pgtrigger.registered():
        if model._meta.app_label == app:
            yield f"{model._meta.label}.{trigger.name}", str(trigger.compile(model).install_sql)


@pytest.mark.parametrize("app", APPS)
def test_sql_names_no_table_of_a_higher_app(app: str) -> None:
    higher = {table for other in APPS[APPS.index(app) + 1 :] for table in tables(other)}
    named = [(where, table) for where, text in texts(app) for table in TABLES.findall(text) if table in higher]
    assert named == []


def test_the_texts_are_read() -> None:
    """A test that finds nothing anywhere would pass."""
    for app in APPS:
        assert {table for _where, text in texts(app) for table in TABLES.findall(text)} & tables(app)
