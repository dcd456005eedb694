"""The open case: live frames, tensors and modules around an exception, found once and shared by all who look."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch import nn

from torchwhy.observe.program.frames import span_of
from torchwhy.replay.crash.autopsy.best_effort import Careful
from torchwhy.replay.crash.autopsy.running_layers import running_modules
from torchwhy.replay.crash.frames.construction import Builder
from torchwhy.replay.crash.frames.failed_call import Call, failed_call
from torchwhy.replay.crash.frames.failed_operands import Found, inputs_of, operands_of
from torchwhy.replay.crash.frames.source_files import expression_at
from torchwhy.replay.crash.frames.traceback_frames import Spot, below, blamed
from torchwhy.replay.crash.trials.reexecute import seen_again
from torchwhy.replay.crash.trials.tensor_changes import loss_arguments
from torchwhy.replay.microscope.operations import Operation

if TYPE_CHECKING:
    from torchwhy.replay.equipment import Stage


@dataclass(eq=False)
class Case:
    """What the steps of an autopsy share: the live frames, tensors and modules around the exception."""

    stage: Stage
    error: BaseException
    spots: list[Spot]
    caught: bool = False
    spot: Spot | None = None
    callees: list[Spot] = field(default_factory=list)
    operands: list[Found] = field(default_factory=list)
    inputs: list[Found] = field(default_factory=list)
    op: str | None = None
    modules: list[nn.Module] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    builder: Builder | None = None
    careful: Careful = field(default_factory=Careful)
    call: Call | None = None
    is_loss: bool = False

    def path_of(self, module: nn.Module) -> str:
        """Return what the program calls a module."""
        return self.stage.session.names.path_of(module)

    def is_in_file(self, node: ast.expr) -> bool:
        """Tell whether a piece of syntax has its true place in the user's file, so that it may be edited there."""
        if self.spot is None:
            return False
        whole = self.spot.node
        code = self.spot.frame.f_code
        return (
            isinstance(whole, (ast.expr, ast.stmt))
            and whole is expression_at(code.co_filename, span_of(self.spot.site))
            and any(part is node for part in ast.walk(whole))
        )

    @property
    def is_worth_trying(self) -> bool:
        """Tell whether the exception is of a kind that another shape or dtype may cure."""
        if self.spots[-1].is_at_raise_of_user:
            return False
        return isinstance(
            self.error, (RuntimeError, ValueError, IndexError, AssertionError, TypeError)
        ) and bool(self.callees or self.operands)

    @property
    def layer(self) -> nn.Module | None:
        """Return the innermost running module."""
        return self.modules[-1] if self.modules else None


def opened(stage: Stage, error: BaseException, spots: list[Spot], *, caught: bool = False) -> Case:
    """Return the case: the user's frame, its operands, the torch function below it, the running modules."""
    case = Case(stage, error, spots, caught)
    case.spot = blamed(spots)
    if case.spot is None:
        return case
    case.callees = below(spots, case.spot)
    get = case.careful.get
    get(None, stage.session.names.learn, spots[-1].frame)
    case.operands = get([], operands_of, case.spot, case.callees)
    case.op, case.inputs = get((None, []), inputs_of, case.callees)
    case.modules = get([], running_modules, spots)
    case.builder = get(None, _builder, case)
    get(None, _see_operations, case)
    case.call = get(None, failed_call, case.spot, case.callees)
    case.is_loss = get(None, loss_arguments, case) is not None
    return case


def _builder(case: Case) -> Builder | None:
    files = [one.frame.f_code.co_filename for one in reversed(case.spots) if one.layer == "user"]
    return Builder(case.stage.session.names, files)


def _see_operations(case: Case) -> None:
    """Take the operations of the first step as seen; of a later step, see the model call once more."""
    microscope = case.stage.microscope
    if microscope.is_on:
        case.operations = microscope.operations()
        begins = [began for began, _ in microscope.forwards]
        if begins:
            case.operations = [one for one in case.operations if one.order > begins[-1]]
    elif not case.caught:
        again = seen_again(case.stage, case.error, case.spots)
        if again is not None:
            spots, case.operations = again
            user = blamed(spots)
            case.op, case.inputs = (
                inputs_of(below(spots, user)) if user is not None else (case.op, case.inputs)
            )
