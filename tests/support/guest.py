"""Runs small programs with and without torchwhy, beside a torch that is one line long."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"

# Stands in for the recording: notes who called, and when.
FAKE_WIRE = """
import sys, types
wire = types.ModuleType("torchwhy.observe.boot.wire")
def begin(run_directory):
    import torch
    with open(run_directory + "/begun.txt", "a") as note:
        note.write(f"{run_directory} {torch.finished} {torch.__spec__._initializing}\\n")
wire.begin = begin
sys.modules["torchwhy.observe.boot.wire"] = wire
"""


@dataclass(frozen=True)
class Ended:
    """What a person at the terminal sees of a program."""

    code: int
    out: str
    err: str


class Workshop:
    """A folder with programs, a small torch, and a `sitecustomize` of the user's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("torch/__init__.py", "import sys\nstarted = True\nfinished = True\n")
        (folder / "user").mkdir()

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf8")
        return path

    def sitecustomize(self, text: str = FAKE_WIRE) -> None:
        self.write("user/sitecustomize.py", text)

    @property
    def environment(self) -> dict[str, str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TORCHWHY")}
        environment["PYTHONPATH"] = os.pathsep.join([str(self.folder / "user"), str(SOURCE)])
        environment["PYTHONHASHSEED"] = "7"
        return environment

    def plain(self, *command: str, stdin: str = "") -> Ended:
        return self.run([sys.executable, *command], stdin)

    def watched(self, *command: str, stdin: str = "") -> Ended:
        return self.run([*self.torchwhy, "run", *command], stdin)

    @property
    def torchwhy(self) -> list[str]:
        return [sys.executable, "-m", "torchwhy"]

    def run(self, command: list[str], stdin: str = "") -> Ended:
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.environment,
            timeout=30,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def start(self, *command: str, **options: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.torchwhy, "run", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.environment,
            **options,
        )

    @property
    def run_directory(self) -> Path:
        (directory,) = (self.folder / ".torchwhy" / "runs").iterdir()
        return directory

    @property
    def begun(self) -> list[str]:
        note = self.run_directory / "begun.txt"
        return note.read_text().splitlines() if note.exists() else []
