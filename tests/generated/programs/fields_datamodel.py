"""Reads {"schema", "value"} in lines; writes each value as the models of datamodel-code-generator do that read it."""

import importlib
import json
import sys

models = importlib.import_module("models")

for line in sys.stdin:
    given = json.loads(line)
    try:
        model = getattr(models, given["schema"]).model_validate(given["value"])
        written = model.model_dump_json(by_alias=True, exclude_unset=True)
    except ValueError as error:
        written = json.dumps(str(error))
    sys.stdout.write(f"{written}\n")
