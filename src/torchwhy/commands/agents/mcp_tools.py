"""The tools of `torchwhy mcp`: each runs one command in the folder of the server and returns its text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from torchwhy import __version__
from torchwhy.commands.agents.bounded_process import Ended, torchwhy
from torchwhy.commands.agents.confined_paths import run_in, script_in
from torchwhy.errors import TorchwhyError

BAD_INPUT = 2
LONGEST_SECONDS = 3600.0
QUICK_SECONDS = 120.0  # for commands that only read
LONGEST_DATA = 200_000  # bytes; JSON that is cut in the middle is none
MOST_RUNS = 200
MOST_WORDS = 200
INSTRUCTIONS = (
    "torchwhy says why a PyTorch training script broke: what, where, since when, and which change cures it. Use `run` "
    "to run a script under it, `fix` to try changes, `check` to test a script that runs and does not learn, `report` "
    "for the evidence as data, and `explain` for the manual page of a cause."
)
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
RUNS_CODE = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=True)


def make_server(root: Path) -> MCPServer:
    """Return the server for one folder."""
    tools = Tools(root.resolve())
    server: MCPServer = MCPServer(
        "torchwhy", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    for tool in (tools.run, tools.check, tools.fix):
        server.add_tool(tool, annotations=RUNS_CODE, structured_output=False)
    for reading in (tools.report, tools.explain, tools.list_runs):
        server.add_tool(reading, annotations=READS, structured_output=False)
    return server


class Tools:
    """The tools of one folder; their docstrings are what the agent reads."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def run(
        self, script: str, arguments: list[str] | None = None, limit_seconds: float = 600.0
    ) -> str:
        """Run a Python training script of this folder unchanged and diagnose it.

        Returns the program's output and, if something is wrong, the report: the cause, its line, the evidence and
        the proposed change. The script is ended after limit_seconds, and what it did until then is diagnosed.
        """
        words = ["run", "--", *self._program(script, arguments)]
        ended = await torchwhy(words, root=self._root, limit_seconds=_bounded(limit_seconds))
        return _told(ended, limit_seconds)

    async def check(
        self, script: str, arguments: list[str] | None = None, limit_seconds: float = 120.0
    ) -> str:
        """Rehearse a training script for some steps and test by experiment whether it can learn.

        Returns a list of questions, such as whether the inputs and labels matter, with the answers. No file is changed.
        """
        limit = _bounded(limit_seconds)
        words = ["check", "--limit", f"{limit:g}", "--", *self._program(script, arguments)]
        ended = await torchwhy(words, root=self._root, limit_seconds=2 * limit + QUICK_SECONDS)
        return _told(ended, limit_seconds)

    async def fix(
        self,
        script: str | None = None,
        arguments: list[str] | None = None,
        run: str | None = None,
        limit_seconds: float = 300.0,
    ) -> str:
        """Try changes that may cure a failure, each in its own run on an edited copy, and say which one does.

        Takes a script to run first, or the name of a recorded run; without both, the last run. The source is not
        changed: the diff is in the answer.
        """
        if script is not None and run is not None:
            raise ToolError("give a script or a run, not both. [wrong-option]")
        limit = _bounded(limit_seconds)
        words = ["fix", "--fix-limit", f"{limit:g}"]
        if script is not None:
            words += ["--", *self._program(script, arguments)]
        else:
            words += ["--run", _confined(run_in, self._root, run)]
        ended = await torchwhy(words, root=self._root, limit_seconds=2 * limit + LONGEST_SECONDS)
        return _told(ended, limit_seconds)

    async def report(
        self,
        run: str | None = None,
        format: Literal["md", "json", "sarif"] = "md",  # noqa: A002
    ) -> str:
        """Return the report of a recorded run: by its name or id, by the name of a script, or of the last run."""
        words = ["report", _confined(run_in, self._root, run), "-f", format]
        ended = await torchwhy(
            words, root=self._root, limit_seconds=QUICK_SECONDS, first=LONGEST_DATA
        )
        if ended.left_out and format != "md":
            raise ToolError("the report is too long to send as data: ask for md. [wrong-option]")
        return _told(ended)

    async def explain(self, words: str = "") -> str:
        """Return the manual page of a cause, the causes that match words or an error message, or the list of all."""
        listed = words.split()[:MOST_WORDS]
        command = ["explain", "--", *listed] if listed else ["explain"]
        return _told(await torchwhy(command, root=self._root, limit_seconds=QUICK_SECONDS))

    async def list_runs(self, number: int = 20) -> str:
        """List the recorded runs of this folder as JSON, newest first: when, command, outcome, steps, root cause."""
        words = ["runs", "-f", "json", "-n", str(min(max(number, 0), MOST_RUNS))]
        ended = await torchwhy(
            words, root=self._root, limit_seconds=QUICK_SECONDS, first=LONGEST_DATA
        )
        return _told(ended)

    def _program(self, script: str, arguments: list[str] | None) -> list[str]:
        words = arguments or []
        if any("\0" in word for word in words):
            raise ToolError("an argument holds a NUL. [wrong-option]")
        return [_confined(script_in, self._root, script), *words]


def _confined(choose: Callable[[Path, str], str], root: Path, name: str | None) -> str:
    """Return what `choose` returns; an error of torchwhy is one that the agent may read."""
    try:
        return choose(root, name)  # type: ignore[arg-type]
    except TorchwhyError as problem:
        raise ToolError(str(problem)) from None


def _bounded(seconds: float) -> float:
    if not 0 < seconds <= LONGEST_SECONDS:
        raise ToolError(f"limit_seconds is from 0 to {LONGEST_SECONDS:g}. [wrong-option]")
    return seconds


def _told(ended: Ended, limit_seconds: float | None = None) -> str:
    """Return the output of a command; that of a refused one is an error."""
    if ended.code is None:
        return f"{ended.text}\n[ended by torchwhy mcp: the time of {limit_seconds or QUICK_SECONDS:g} s was up]"
    if ended.code == BAD_INPUT and ended.text.startswith("torchwhy: "):
        raise ToolError(ended.text.strip())
    return f"{ended.text}\n[exit code {ended.code}]" if ended.code else ended.text
