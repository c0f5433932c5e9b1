"""Commands of manage.py, each in a fork of one process that has loaded Django.

To load it for each command would take most of a test's time.
"""

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

Job = Mapping[str, Any]


class Ended(NamedTuple):
    """How a command has ended."""

    status: int
    output: str
    errors: str


class Forks:
    """The process that is forked.

    A job has "arguments" and, where the defaults are not meant: "stdin", a text; "stdout", a file's path; "closed", the
    numbers of standard streams; "encoding", of those streams; "databases", what changes in each one's settings.
    """

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, *arguments: str, **job: Any) -> Ended:
        """Run a command."""
        [ended] = self.at_once({"arguments": arguments, **job})
        return ended

    def at_once(self, *jobs: Job) -> list[Ended]:
        """Run several commands beside each other."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(jobs) + "\n")
        self._process.stdin.flush()
        return [Ended(*one) for one in json.loads(self._process.stdout.readline())]


@contextmanager
def forks(environment: Mapping[str, str]) -> Iterator[Forks]:
    """Start the process, and end it with the block. environment: instead of, or beside, this process's."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.forked"],
        cwd=Path(__file__).parents[2],
        env=os.environ | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Forks(process)


def main() -> None:
    """Run the jobs of each line of standard input; write how they ended in one line."""
    import django

    django.setup()
    for line in sys.stdin:
        with ExitStack() as opened:
            begun = [begin(opened, job) for job in json.loads(line)]
            ended = [(wait(process), *map(text_of, files)) for process, *files in begun]
        print(json.dumps(ended), flush=True)  # noqa: T201 - the answer


def begin(opened: ExitStack, job: Job) -> tuple[Any, IO[bytes], IO[bytes]]:
    """Start a command; the files have its output and its errors."""
    given, output, errors = (opened.enter_context(tempfile.TemporaryFile()) for _ in range(3))  # noqa: SIM115 - it closes them
    given.write(job.get("stdin", "").encode())
    given.seek(0)
    written = opened.enter_context(Path(job["stdout"]).open("wb")) if "stdout" in job else output  # noqa: SIM115
    streams = [file.fileno() for file in (given, written, errors)]
    process = multiprocessing.get_context("fork").Process(target=command, args=(job, streams))
    process.start()
    return process, output, errors


def wait(process: Any) -> int:
    process.join()
    return int(process.exitcode)


def text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def command(job: Job, streams: list[int]) -> None:
    """Run the command as a process of its own would."""
    from django.db import connections

    from manage import main as manage

    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        os.dup2(streams[number], number)
        is_open = number not in job.get("closed", ())
        encoding = job.get("encoding", "utf-8")
        setattr(sys, name, open(number, mode, encoding=encoding, closefd=False) if is_open else None)  # noqa: SIM115
        if not is_open:
            os.close(number)
    for alias, changes in job.get("databases", {}).items():
        connections[alias].settings_dict.update(changes)
    sys.argv = ["manage.py", *job["arguments"]]
    manage()


if __name__ == "__main__":
    main()
