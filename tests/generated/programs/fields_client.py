"""Reads {"schema", "value"} in lines; writes each value as the models of openapi-python-client do that read it."""

import importlib
import json
import sys

models = importlib.import_module("client.models")

for line in sys.stdin:
    given = json.loads(line)
    try:
        written = getattr(models, given["schema"]).from_dict(given["value"]).to_dict()
    except (KeyError, TypeError, ValueError) as error:
        written = repr(error)
    sys.stdout.write(f"{json.dumps(written)}\n")
