"""systemctl and systemd-run for the runbook's commands where systemd is not PID 1: processes of the units' ExecStart.

FOLDER has `units`, with the paths replaced, and `pids`. Sandboxing, accounts and timers are systemd's, and not here.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

FOLDER = Path(__file__).resolve().parent


def variables(file: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in shlex.split(Path(file).read_text(), comments=True))


def stop(unit: str) -> None:
    file = FOLDER / "pids" / unit
    if file.exists():
        os.kill(pid := int(file.read_text()), signal.SIGTERM)
        # An ended process may wait for its parent.
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.05)
        file.unlink()


def start(unit: str) -> None:
    name, _, instance = unit.partition("@")
    text = (FOLDER / "units" / f"{name}{'@' if instance else ''}.service").read_text().replace("\\\n", "")
    common = (FOLDER / "units" / "psi-.service.d" / "all.conf").read_text()
    [file], [folder] = (
        re.findall(f"^{key}=(.*)$", common, re.MULTILINE) for key in ("EnvironmentFile", "WorkingDirectory")
    )
    environment = os.environ | dict(re.findall(r"^Environment=(\w+)=(\S+)$", text, re.MULTILINE)) | variables(file)
    for key, command in re.findall(r"^(ExecStart(?:Post)?)=(.*)$", text, re.MULTILINE):
        words = [
            word.replace("${HOST}", environment.get("HOST", ""))
            for word in shlex.split(command.replace("%i", instance))
        ]
        if key == "ExecStartPost":
            subprocess.run(words, check=True)
            continue
        # Two forks: the first process's end leaves nobody who must wait for the unit's.
        script = f'"$@" >/dev/null 2>>"{FOLDER}/{unit}.log" & echo $! >"{FOLDER}/pids/{unit}"'
        subprocess.run(["sh", "-c", script, "sh", *words], cwd=folder, env=environment, check=True)


def run(arguments: list[str]) -> int:
    environment, folder = dict(os.environ), "/"
    while arguments[0].startswith("--"):
        option, _, value = arguments.pop(0)[2:].partition("=")
        if option == "working-directory":
            folder = value
        elif option == "property":
            environment |= variables(value.removeprefix("EnvironmentFile="))
        elif option == "setenv" and "=" in value:
            environment |= dict([value.split("=", 1)])
    return subprocess.run(arguments, cwd=folder, env=environment, check=False).returncode


if __name__ == "__main__":
    if Path(sys.argv[0]).name == "systemd-run":
        sys.exit(run(sys.argv[1:]))
    verb, *units = [word for word in sys.argv[1:] if not word.startswith("--")]
    for unit in units:
        if not unit.endswith(".timer"):
            stop(unit)
            if verb != "stop":
                start(unit)
