"""Cuts the failing step out of the recorded program: definitions, construction of the model, body of the loop.

Statements are copied as they stand; variables that hold plain values get those; nothing is guessed. What cannot be
cut out raises `CannotCutError`, and whether the cut repeats the failure is found by running it.
"""

from __future__ import annotations

import ast
from dataclasses import field

from torchwhy.plain_data import dataclass
from torchwhy.record.kept.kept_failure import (
    LEAF,
    BatchKept,
    FrameKept,
    FramesKept,
    StateKept,
    VariableKept,
)
from torchwhy.reproduce.copied_statements import (
    CannotCutError,
    Piece,
    argument_given,
    calls_method,
    first_line,
    holds_line,
    only_prints,
    scope_at,
    scope_of_frame,
    text_of_statement,
    top_names,
)
from torchwhy.reproduce.imported_files import ImportedFiles
from torchwhy.reproduce.names_used import changes_object, names_read, names_written
from torchwhy.source.bindings import names_in
from torchwhy.source.edits import Source
from torchwhy.source.scopes import Loop, inside, loops_around, parameters_of

KEPT = "kept"  # the variable that holds the data of the step


@dataclass
class CutProgram:
    """The new program in parts, and the files of the user that it imports."""

    imports: list[Piece] = field(default_factory=list)
    parts: list[Piece] = field(default_factory=list)
    body: list[Piece] = field(default_factory=list)
    copied: dict[str, str] = field(default_factory=dict)  # with their names beside the program
    models: list[tuple[str, str]] = field(default_factory=list)  # expression, entry of the state
    optimizers: list[tuple[str, str]] = field(default_factory=list)
    leaves: list[str] = field(default_factory=list)  # tensors with a gradient, outside of modules
    makes_update: bool = False
    variables: dict[str, int] = field(
        default_factory=dict
    )  # tensors, by name, as numbered in the run


@dataclass(frozen=True)
class StepFacts:
    """What the run recorded about the failing step."""

    files: dict[str, Source]
    frames: FramesKept
    state: StateKept
    batch: BatchKept | None


class Cutter:
    """Builds one program; `with_update` keeps the optimizer and its step."""

    def __init__(self, facts: StepFacts, *, with_update: bool, whole_body: bool) -> None:
        self._facts = facts
        self._with_update = with_update
        self._whole_body = whole_body
        self._imported = ImportedFiles(facts.files, facts.frames.frames[-1].file)
        self._program = CutProgram(copied=self._imported.copied)
        self._given: dict[str, int | str] = {}  # names that the program has, and what they hold
        self._copied_definitions: set[tuple[str, int]] = set()
        self._under_way: set[tuple[int, str]] = set()
        self._place, self._loop = self._find_loop()

    def cut(self) -> CutProgram:
        """Return the program."""
        source = self._source(self._place)
        statements = self._statements_of_step()
        targets = self._loop_targets()
        for statement in statements:
            text = self._copied_with_batch(statement, source).text
            needed = names_read(ast.parse(text), text) - {KEPT}
            for name in sorted(needed - targets - self._defined_before(statements, statement)):
                self._provide(name, self._place)
        used = {name for one in statements for name in names_in(one)}
        self._program.body = self._given_batch() if targets & used else []
        self._program.body += [self._copied_with_batch(one, source) for one in statements]
        for name, expression in self._facts.state.parts.items():
            if expression.partition(".")[0] not in self._given:
                continue
            if name in self._facts.state.models:
                self._program.models.append((expression, name))
            elif self._with_update:
                self._program.optimizers.append((expression, name))
        if not self._program.models and not self._program.leaves:
            raise CannotCutError("the step uses no model of which the state was kept")
        self._program.makes_update = self._with_update
        return self._program

    def _find_loop(self) -> tuple[int, Loop]:
        for place, frame in enumerate(self._facts.frames.frames):
            source = self._facts.files.get(frame.file)
            scope = None if source is None else scope_of_frame(source, frame)
            loops = [] if scope is None else loops_around(scope, frame.line)
            if loops:
                return place, loops[0]
        raise CannotCutError("the loop that trains is in no file of the program itself")

    def _frame(self, place: int) -> FrameKept:
        return self._facts.frames.frames[place]

    def _source(self, place: int) -> Source:
        source = self._facts.files.get(self._frame(place).file)
        if source is None:
            raise CannotCutError(f"the text of {self._frame(place).file} was not recorded")
        return source

    # The body of the loop.

    def _statements_of_step(self) -> list[ast.stmt]:
        """Return the statements of the body up to the backward pass, or up to the update."""
        line = self._frame(self._place).line
        body = [one for one in self._loop.body if one.lineno <= line]
        if not body:
            raise CannotCutError("the step is not in the body of the loop")
        if self._with_update:
            return [one for one in body if not only_prints(one)]
        last = next(
            (n for n in range(len(body) - 1, -1, -1) if calls_method(body[n], "backward")), None
        )
        if last is None:  # a function of the program makes the whole step
            self._with_update = True
            return [one for one in body if not only_prints(one)]
        kept = [body[last]]
        source = self._source(self._place)
        needed = names_read(body[last], text_of_statement(source, body[last]))
        for statement in reversed(body[:last]):
            writes = names_written(statement)
            if self._drops(statement):
                continue
            if (
                self._whole_body
                or writes & needed
                or any(changes_object(statement, n) for n in needed)
            ):
                kept.insert(0, statement)
                needed |= names_read(statement, text_of_statement(source, statement))
        return kept

    def _drops(self, statement: ast.stmt) -> bool:
        """Tell whether a statement only prints, or only concerns the optimizer."""
        if only_prints(statement):
            return True
        variables = self._variables(self._place)
        return any(
            changes_object(statement, name)
            for name, variable in variables.items()
            if variable.kind == "optimizer"
        )

    def _defined_before(self, statements: list[ast.stmt], until: ast.stmt) -> set[str]:
        found: set[str] = set()
        for statement in statements:
            if statement is until:
                break
            found |= names_written(statement)
        return found

    def _loop_targets(self) -> set[str]:
        target = getattr(self._loop, "target", None)
        return set() if target is None else names_written(target)

    def _given_batch(self) -> list[Piece]:
        """Return the assignment of the loop's variables: the kept batch, or the values they had."""
        loop = self._loop
        if isinstance(loop, ast.While):
            return []  # `next(…)` gives the batch
        source = self._source(self._place)
        target = source.of(loop.target)
        batch = self._facts.batch
        if batch is not None and batch.batches == 1:
            if isinstance(loop.iter, ast.Call) and source.of(loop.iter.func) == "enumerate":
                return [Piece(f'{target} = 0, {KEPT}["batch"]')]
            return [Piece(f'{target} = {KEPT}["batch"]')]
        if batch is not None and batch.batches > 1:
            raise CannotCutError("the step consists of several batches")
        variables = self._variables(self._place)
        values = [variables.get(name) for name in sorted(self._loop_targets())]
        if len(values) == 1 and values[0] is not None and values[0].kind == "value":
            return [Piece(f"{target} = {values[0].text}")]
        return [
            Piece(f"{name} = {self._tensor(name, variables.get(name))}")
            for name in sorted(self._loop_targets())
        ]

    # What the body needs.

    def _variables(self, place: int) -> dict[str, VariableKept]:
        frame = self._frame(place)
        return {**self._facts.frames.globals.get(frame.file, {}), **frame.variables}

    def _provide(self, name: str, place: int) -> None:
        """Make the program give a name what it holds in the function at `place`."""
        variable = self._variables(place).get(name)
        if variable is None:
            self._provide_definition(name, place)
            return
        holds: int | str = variable.object or variable.text
        if name in self._given:
            if self._given[name] != holds:
                raise CannotCutError(f"`{name}` is the name of two different things")
            return
        if variable.kind == "value":
            self._given[name] = holds
            self._program.parts.append(Piece(f"{name} = {variable.text}"))
        elif variable.kind == "tensor":
            self._given[name] = holds
            self._program.parts.append(Piece(f"{name} = {self._tensor(name, variable)}"))
        elif variable.kind == "definition":
            self._provide_definition(name, place)
            self._given[name] = holds
        else:
            self._construct(name, place, variable)

    def _tensor(self, name: str, variable: VariableKept | None) -> str:
        batch = self._facts.batch
        if batch is None or variable is None or variable.object not in batch.tensors:
            raise CannotCutError(f"the values of `{name}` were not kept")
        self._program.variables[name] = variable.object
        if variable.text == LEAF:
            self._program.leaves.append(name)
            return f'{KEPT}["variables"]["{name}"].requires_grad_()'
        return f'{KEPT}["variables"]["{name}"]'

    def _provide_definition(self, name: str, place: int) -> None:
        """Copy the import, function or class of a name from the top level of the file."""
        source = self._source(place)
        found = [one for one in source.tree.body if name in top_names(one)]
        if not found:
            scope = scope_at(source, self._frame(place))
            local = (one for one in inside(scope) if isinstance(one, ast.stmt))
            found = [one for one in local if name in top_names(one)]
        variable = self._variables(place).get(name)
        if not found and variable is not None:
            self._take_from_caller(name, place, variable)
            return
        if not found:
            raise CannotCutError(f"the definition of `{name}` was not found")
        for statement in found[:1]:
            self._copy_definition(statement, source, place)

    def _copy_definition(self, statement: ast.stmt, source: Source, place: int) -> None:
        key = (source.file, statement.lineno)
        if key in self._copied_definitions:
            return
        self._copied_definitions.add(key)
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            self._program.imports.append(self._copied(statement, source))
            self._imported.follow(statement)
            return
        for name in sorted(names_read(statement, text_of_statement(source, statement))):
            if name in self._facts.frames.globals.get(source.file, {}) or any(
                name in top_names(one) for one in source.tree.body
            ):
                self._provide(name, place)
        self._program.parts.append(self._copied(statement, source))

    def _construct(self, name: str, place: int, variable: VariableKept) -> None:
        """Copy the statements that made an object; if it was handed over, those of the caller."""
        if (place, name) in self._under_way:
            return
        self._under_way.add((place, name))
        frame, source = self._frame(place), self._source(place)
        is_local = name in frame.variables
        scope = scope_at(source, frame) if is_local else source.tree
        made = [] if name in parameters_of(scope) else self._making(scope, name, place)
        if made:
            for statement in made:
                for needed in sorted(
                    names_read(statement, text_of_statement(source, statement)) - {name}
                ):
                    self._provide(needed, place)
                self._program.parts.append(self._copied(statement, source))
                for other in names_written(statement):
                    held = self._variables(place).get(other)
                    self._given[other] = held.object or held.text if held is not None else 0
            self._given[name] = variable.object
            return
        self._take_from_caller(name, place, variable)

    def _making(self, scope: ast.AST, name: str, place: int) -> list[ast.stmt]:
        """Return the statements before the loop that give a name its value and change what it holds."""
        until = self._loop.lineno if place == self._place else self._frame(place).line
        body = [one for one in inside(scope) if isinstance(one, ast.stmt) and one.lineno < until]
        if place == self._place or isinstance(scope, ast.Module):
            body = [one for one in body if not holds_line(one, until)]
        made = [
            one
            for one in body
            if isinstance(one, (ast.Assign, ast.AnnAssign)) and name in names_written(one)
        ]
        if not made:
            return []
        first = made[0].lineno
        changed = [
            one
            for one in body
            if one.lineno > first
            and changes_object(one, name)
            and "load_state_dict" not in ast.unparse(one)
        ]
        return sorted({*made, *changed}, key=lambda one: one.lineno)

    def _take_from_caller(self, name: str, place: int, variable: VariableKept) -> None:
        for outer in range(place + 1, len(self._facts.frames.frames)):
            for other, held in self._variables(outer).items():
                if held.object == variable.object and held.kind == variable.kind:
                    self._provide(other, outer)
                    if other != name:
                        self._program.parts.append(Piece(f"{name} = {other}"))
                        self._given[name] = variable.object
                    return
        self._take_argument(name, place, variable)

    def _take_argument(self, name: str, place: int, variable: VariableKept) -> None:
        """Give a parameter what stands in the call: `train(Net(8), loader)`."""
        scope = scope_at(self._source(place), self._frame(place))
        has_caller = place + 1 < len(self._facts.frames.frames)
        source = self._source(place + 1) if has_caller else None
        line = self._frame(place + 1).line if has_caller else 0
        given = None if source is None else argument_given(source, line, scope, name)
        if given is None or source is None:
            raise CannotCutError(f"how `{name}` ({variable.text}) was made is not known")
        for needed in sorted(names_read(given, "")):
            self._provide(needed, place + 1)
        text = f"{name} = {source.of(given)}"
        self._program.parts.append(Piece(text, source.file, given.lineno))
        self._given[name] = variable.object

    def _copied_with_batch(self, statement: ast.stmt, source: Source) -> Piece:
        """Return a statement of the body; where it asks an iterator for a batch, it gets the kept one."""
        piece = self._copied(statement, source)
        batch = self._facts.batch
        if batch is None or not batch.batches or "next(" not in piece.text:
            return piece
        calls = [one for one in ast.walk(statement) if isinstance(one, ast.Call)]
        for call in calls:
            if isinstance(call.func, ast.Name) and call.func.id == "next":
                text = piece.text.replace(source.of(call), f'{KEPT}["batch"]')
                return Piece(text, piece.file, piece.line)
        return piece

    def _copied(self, statement: ast.stmt, source: Source) -> Piece:
        return Piece(text_of_statement(source, statement), source.file, first_line(statement))
