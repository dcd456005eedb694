"""One fault: an edit of a healthy program, and the cause and line that torchwhy must name for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.plan import PLAIN_TASKS, Plan, draw
from tests.fuzz.program import names_of, write_program
from tests.fuzz.script import Script

Edit = Callable[[Plan, Script], Script]
GUILTY = "guilty"  # the role of a line that an edit made wrong
RICHNESS = 0.4  # Few extras: what else a program does must not hide or repair the fault.
PLAINLY = {
    "compiled": False
}  # Compiled steps are watched from outside: most questions are not asked of them.
WITH_CLASS = ("attributes", "list", "residual")
CLASSES = ("classes", "image", "tokens")


@dataclass(frozen=True)
class Fault:
    """`causes` are the right answers: each name with the roles that its line may have.

    `needs` fixes choices of the plan; a tuple lists those to draw from.
    """

    name: str
    edit: Edit
    causes: dict[str, str | tuple[str, ...]]
    needs: dict[str, Any] = field(default_factory=dict)
    checked: bool = False  # only `torchwhy check` asks for it


@dataclass(frozen=True)
class Mutant:
    """A program with one fault, and the right answers as cause and line."""

    fault: Fault
    seed: object
    plan: Plan
    text: str
    expected: frozenset[tuple[str, int]]


def mutate(fault: Fault, seed: object) -> Mutant:
    """Put the fault into the healthy program of a seed."""
    chance = random.Random(f"fault {fault.name} {seed}")
    fixed = {
        name: chance.choice(value) if isinstance(value, tuple) else value
        for name, value in fault.needs.items()
    }
    if fixed.get("optimizer") == "SGD" and fixed.setdefault("task", "classes") not in PLAIN_TASKS:
        fixed["optimizer"] = "Adam"
    plan = draw(f"{fault.name} {seed}", richness=RICHNESS, **{**PLAINLY, **fixed})
    script = fault.edit(plan, write_program(plan, sworn=False))
    expected = {
        (cause, script.number(role))
        for cause, roles in fault.causes.items()
        for role in ((roles,) if isinstance(roles, str) else roles)
        if script.has(role)
    }
    return Mutant(fault, seed, plan, script.render(names_of(plan)), frozenset(expected))


def drop(role: str) -> Edit:
    """Leave a line out."""
    return lambda _, script: script.without(role)


def swap(one: str, other: str) -> Edit:
    """Exchange two lines."""
    return lambda _, script: script.swap(one, other)


def rewrite(role: str, old: str, new: str) -> Edit:
    """Replace a part of a line, which is then the guilty one."""

    def edit(_: Plan, script: Script) -> Script:
        assert any(old in line.text for line in script.lines if line.role == role), (role, old)
        return script.change(role, lambda text: text.replace(old, new), becomes=GUILTY)

    return edit


def wrap(role: str, before: str, after: str) -> Edit:
    """Put something around the right side of an assignment, or around what is returned."""

    def around(text: str) -> str:
        left, sign, right = text.partition(" = ")
        if not sign:
            left, sign, right = text.partition(" ")
        return f"{left}{sign}{before}{right}{after}"

    return lambda _, script: script.change(role, around, becomes=GUILTY)


def put_before(role: str, *texts: str) -> Edit:
    """Add lines before another; the last is the guilty one."""

    def edit(_: Plan, script: Script) -> Script:
        script = script.before(role, texts[-1], new_role=GUILTY)
        return script.before(GUILTY, *texts[:-1]) if len(texts) > 1 else script

    return edit


def put_after(role: str, *texts: str) -> Edit:
    """Add lines behind another; the last is the guilty one."""

    def edit(_: Plan, script: Script) -> Script:
        script = script.after(role, texts[-1], new_role=GUILTY)
        return script.before(GUILTY, *texts[:-1]) if len(texts) > 1 else script

    return edit


def keeping(text: str) -> Edit:
    """Let every batch add something to the list `kept`."""

    def edit(_: Plan, script: Script) -> Script:
        return script.after("optimizer", "kept = []").after("total", text, new_role=GUILTY)

    return edit


def both(*edits: Edit) -> Edit:
    """Make several edits, one after another."""

    def edit(plan: Plan, script: Script) -> Script:
        for one in edits:
            script = one(plan, script)
        return script

    return edit
