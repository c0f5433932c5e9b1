"""nginx logs which part of the service a path is of, and never a path itself, which names users."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from docs_site.reference import description

LOG = Path(settings.BASE_DIR) / "deploy" / "nginx" / "log.conf"
LINE = re.compile(r"^ +~(?P<pattern>\S+) +(?P<route>/[^;]+);$", re.MULTILINE)
ROUTES = [(re.compile(line["pattern"]), line["route"]) for line in LINE.finditer(LOG.read_text())]


@pytest.mark.parametrize("path", description()["paths"])
def test_a_path_of_the_description_is_logged_without_what_it_names(path: str) -> None:
    logged = next(route for pattern, route in ROUTES if pattern.search(path))
    assert logged == ("/v1/sandbox" if path.startswith("/v1/sandbox") else "/v1")
