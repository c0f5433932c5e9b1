"""Runs commands of manage.py, each in a fork of one process that has loaded Django.

To load it for each command would take most of a test's time.

python -m tests.support.forked FILE: JSON, a list of objects with "arguments" and "stdin" (text). Writes a list of
objects with "returncode" and "stderr", in the same order.
"""

import json
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path


def main(file: str) -> None:
    import django

    django.setup()
    json.dump([run(job["arguments"], job["stdin"]) for job in json.loads(Path(file).read_text())], sys.stdout)


def run(arguments: list[str], stdin: str) -> dict[str, object]:
    """Run a command; return its exit status and standard error."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
        given.write(stdin.encode())
        given.seek(0)
        process = multiprocessing.get_context("fork").Process(
            target=command, args=(arguments, given.fileno(), errors.fileno())
        )
        process.start()
        process.join()
        errors.seek(0)
        return {"returncode": process.exitcode, "stderr": errors.read().decode()}


def command(arguments: list[str], given: int, errors: int) -> None:
    os.dup2(given, 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(errors, 2)
    # multiprocessing has put something else in its place.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - it ends with the process
    sys.argv = ["manage.py", *arguments]
    from manage import main as manage

    manage()


if __name__ == "__main__":
    main(sys.argv[1])
