"""nginx logs the route of each path, and never a path itself, which names users."""

import json
import re
from pathlib import Path

import pytest
from django.conf import settings

from config.description import openapi_json

LOG = Path(settings.BASE_DIR) / "deploy" / "nginx" / "log.conf"
LINE = re.compile(r'^ +~(?P<pattern>\S+) +"?(?P<route>/[^";]+)"?;$', re.MULTILINE)
ROUTES = [(re.compile(line["pattern"]), line["route"]) for line in LINE.finditer(LOG.read_text())]


@pytest.mark.parametrize("path", json.loads(openapi_json())["paths"])
def test_each_path_of_the_description_is_logged_as_such(path: str) -> None:
    requested = re.sub(r"\{\w+\}", "x", path)
    assert next(route for pattern, route in ROUTES if pattern.search(requested)) == path
