"""Runs the steps of deploy/Containerfile in a debootstrap root, without a container engine, and the result.

python -m tests.deploy.containerfile FOLDER [-- COMMAND …]
As root, with debootstrap. FOLDER gets a root for each stage, and keeps them; what is there already is used again.
COMMAND runs as the image would: as its USER, on a read-only root with an empty /tmp and /dev/shm, without
capabilities; without one, what the image starts by itself. Of this process's environment it gets what PASSED_ON names.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUITE = "bookworm"
# For the build: how this machine reaches package indexes. For the run: settings.
OF_THE_MACHINE = re.compile(r"(PIP_\w+|https?_proxy|no_proxy)\Z", re.IGNORECASE)
PASSED_ON = re.compile(
    r"(DATABASE_URL|OWNER_DATABASE_URL|SECRET_KEY|SECRETS_ENCRYPTION_KEYS|ALLOWED_HOSTS|DOCUMENT_STORAGE_URL|REDIS_URL"
    r"|PORT|INTERNAL_PORT|WEB_WORKERS)\Z"
)
BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")


@dataclass(frozen=True)
class Step:
    """An instruction. words: of a COPY, without its options."""

    name: str
    text: str

    @property
    def words(self) -> list[str]:
        return [word for word in shlex.split(self.text) if not word.startswith("--")]


@dataclass(frozen=True)
class Stage:
    """A stage. base: an earlier stage, or an image."""

    base: str
    name: str
    steps: list[Step] = field(default_factory=list)


def read(path: Path) -> list[Stage]:
    """Return the stages of a Containerfile."""
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    stages: list[Stage] = []
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        name, _, text = line.partition(" ")
        if name == "FROM":
            base, _, stage = text.partition(" AS ")
            stages.append(Stage(base, stage))
        else:
            stages[-1].steps.append(Step(name, text.strip()))
    return stages


def build(stages: list[Stage], folder: Path) -> Path:
    """Build a root for each stage; return the last."""
    root = folder
    for stage in stages:
        root = folder / stage.name
        if root.exists():
            continue
        base = folder / stage.base
        if stage.base not in {s.name for s in stages}:
            base = folder / "image"
            if not base.exists():
                subprocess.run(["debootstrap", "--variant=minbase", SUITE, base], check=True)
        unfinished = folder / f"{stage.name}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        subprocess.run(["cp", "--archive", "--reflink=auto", base, unfinished], check=True)
        carry_out(stage, unfinished, folder)
        unfinished.rename(root)
    return root


def carry_out(stage: Stage, root: Path, folder: Path) -> None:
    """Run the steps that change files."""
    place = "/"
    for step in stage.steps:
        print(f"[{stage.name}] {step.name} {step.text}", flush=True)  # noqa: T201 - a command's progress
        if step.name == "WORKDIR":
            place = step.text
            (root / place.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif step.name == "RUN":
            run_in(root, place, step.text)
        elif step.name == "COPY":
            given = re.match(r"--from=(\w+)", step.text)
            source, target = step.words
            come_from = folder / given[1] / source.lstrip("/") if given else ROOT / source
            go_to = root / place.lstrip("/") / target if not target.startswith("/") else root / target.lstrip("/")
            go_to.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "--archive", "--no-target-directory", come_from, go_to], check=True)


def run_in(root: Path, place: str, command: str) -> None:
    """Run a shell command in a root, with this machine's package indexes."""
    environment = {name: value for name, value in os.environ.items() if OF_THE_MACHINE.match(name)}
    environment |= {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
    if BUNDLE.exists():
        inside = root / "tmp" / BUNDLE.name
        shutil.copy(BUNDLE, inside)
        environment["PIP_CERT"] = f"/tmp/{BUNDLE.name}"
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    script = f"cd {shlex.quote(place)} && {command}"
    subprocess.run(["chroot", str(root), "/bin/sh", "-euc", script], env=environment, check=True)


def start(stage: Stage, root: Path, arguments: list[str]) -> int:
    """Run the image; return the exit status."""
    said = {step.name: step.text for step in stage.steps}
    set_there = dict(word.split("=", 1) for word in shlex.split(said["ENV"]))
    given = {name: value for name, value in os.environ.items() if PASSED_ON.match(name)}
    command = json.loads(said["ENTRYPOINT"]) + (arguments or json.loads(said["CMD"]))
    user, group = said["USER"].split(":")
    inside = f"cd {said['WORKDIR']} && exec setpriv --reuid={user} --regid={group} --clear-groups --bounding-set=-all"
    inside += f" --inh-caps=-all --no-new-privs {shlex.join(command)}"
    script = (
        "mkdir -p $0/dev/shm && mount --bind $0 $0 && mount -o remount,ro,bind $0 && mount -t tmpfs tmpfs $0/tmp"
        " && mount -t tmpfs tmpfs $0/dev/shm && mount -t proc proc $0/proc"
        f" && exec chroot $0 /bin/sh -c {shlex.quote(inside)}"
    )
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"} | set_there | given
    return subprocess.run(
        ["unshare", "--mount", "/bin/sh", "-euc", script, str(root)], env=environment, check=False
    ).returncode


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit status."""
    folder = Path(arguments[0]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    stages = read(ROOT / "deploy" / "Containerfile")
    return start(stages[-1], build(stages, folder), arguments[2:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
