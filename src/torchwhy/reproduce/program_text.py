"""The new program as text, and which of its lines stood where in the user's files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from torchwhy.plain_data import dataclass
from torchwhy.reproduce.copied_statements import Piece
from torchwhy.reproduce.cut_program import KEPT, CutProgram

DATA_FILE = "step.pt"
RANDOM = f'torch.set_rng_state({KEPT}["random"])'
NEEDED = {"types.": "import types", "torch.": "import torch"}


@dataclass
class ProgramText:
    """The lines of the program; `origins` has the file and line of each that was copied, by its number."""

    lines: list[str] = field(default_factory=list)
    origins: dict[int, tuple[str, int]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return the file."""
        return "\n".join(self.lines) + "\n"

    def add(self, *lines: str) -> None:
        """Add lines of our own."""
        self.lines += lines

    def copy(self, pieces: Iterable[Piece]) -> None:
        """Add pieces of the user's files, with blank lines around definitions."""
        for piece in pieces:
            lines = piece.text.splitlines()
            is_definition = lines[0].startswith(("def ", "class ", "@", "async def "))
            if is_definition and self.lines and self.lines[-1]:
                self.add("", "")
            for number, line in enumerate(lines):
                self.lines.append(line)
                if piece.file is not None:
                    self.origins[len(self.lines)] = (piece.file, piece.line + number)
            if is_definition:
                self.add("", "")


def render(program: CutProgram, settings: Iterable[Piece], *, title: str) -> ProgramText:
    """Return the program that repeats the step."""
    settings = list(settings)
    made = ProgramText()
    quoted = title.replace("\\", "\\\\").replace('"""', "'''")
    made.add(f'"""{quoted}"""', "")
    made.add("from pathlib import Path", "")
    own = {"import torch", *(piece.text for piece in program.imports)}
    everything = "\n".join(piece.text for piece in (*program.parts, *program.body))
    own |= {line for word, line in NEEDED.items() if word in everything}
    made.add(*sorted(own - {piece.text for piece in program.imports}))
    made.copy(program.imports)
    made.add("")
    made.copy(settings)
    made.add(
        f'{KEPT} = torch.load(Path(__file__).with_name("{DATA_FILE}"), weights_only=True)',
    )
    made.copy(program.parts)
    for expression, name in (*program.models, *program.optimizers):
        made.add(f'{expression}.load_state_dict({KEPT}["parts"]["{name}"])')
    made.add(RANDOM, "")
    made.copy(program.body)
    made.add("", *_told(program))
    return made


def _told(program: CutProgram) -> list[str]:
    """Return the lines that tell what came of the step."""
    kind, value = ("weights", "one") if program.makes_update else ("gradients", "one.grad")
    condition = f"not {value}.isfinite().all()"
    if not program.makes_update:
        condition = f"one.grad is not None and {condition}"
    sources = [(f"{text}.named_parameters()", f" of {text}") for text, _ in program.models]
    if program.leaves:
        named = ", ".join(f'"{name}": {name}' for name in program.leaves)
        sources.append((f"{{{named}}}.items()", ""))
    return [
        line
        for source, whose in sources
        for line in (
            f"bad = [name for name, one in {source} if {condition}]",
            f'print("{kind}{whose} that are not finite:", ", ".join(bad) or "none")',
        )
    ]


def judged(made: ProgramText, program: CutProgram) -> str:
    """Return the program with a step that writes nothing at its end, before which torchwhy checks the gradients."""
    if program.makes_update:
        return made.text
    models = (f"*{expression}.parameters()" for expression, _ in program.models)
    lists = ", ".join([*models, *program.leaves])
    makes = f"{RANDOM}; judging = torch.optim.SGD([{lists}], lr=0.0)"  # Lines keep their numbers.
    return f"{made.text.replace(RANDOM, makes, 1)}judging.step()\n"
