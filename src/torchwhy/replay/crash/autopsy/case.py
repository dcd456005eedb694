"""The live frames, tensors and modules around an exception, found once and shared by all parts of the autopsy."""

from __future__ import annotations

from dataclasses import field

from torch import nn

from torchwhy.observe.probes.batches import BatchKeeper
from torchwhy.observe.program.frames import span_of
from torchwhy.observe.program.names import Names
from torchwhy.plain_data import dataclass
from torchwhy.replay.crash.autopsy.best_effort import BestEffort
from torchwhy.replay.crash.autopsy.running_layers import running_modules
from torchwhy.replay.crash.frames.construction import Builder
from torchwhy.replay.crash.frames.failed_call import Call, failed_call
from torchwhy.replay.crash.frames.failed_operands import FoundOperand, inputs_of, operands_of
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame, below, blamed
from torchwhy.replay.crash.trials.reexecute import Reexecution
from torchwhy.replay.crash.trials.tensor_changes import loss_arguments
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.nonfinite.program_context import LiveContext
from torchwhy.source.edits import Source
from torchwhy.source.files import loaded
from torchwhy.source.scopes import holds
from torchwhy.source.values import Expression, Node


@dataclass(eq=False)
class Case:
    """One exception, and the program around it; `callees` are the frames below the blamed one."""

    names: Names
    batches: BatchKeeper
    microscope: Microscope
    context: LiveContext
    error: BaseException
    frames: list[TracebackFrame]
    caught: bool = False
    frame: TracebackFrame | None = None
    callees: list[TracebackFrame] = field(default_factory=list)
    operands: list[FoundOperand] = field(default_factory=list)
    inputs: list[FoundOperand] = field(default_factory=list)
    op: str | None = None
    modules: list[nn.Module] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    builder: Builder | None = None
    best_effort: BestEffort = field(default_factory=BestEffort)
    call: Call | None = None
    is_loss: bool = False

    def path_of(self, module: nn.Module) -> str:
        """Return what the program calls a module."""
        return self.names.path_of(module)

    def diff_of(self, node: Node | None, text: str) -> str:
        """Return the diff of the user's file in which a part of the failing expression reads `text`."""
        if self.source is None or not isinstance(node, Expression) or not self.is_in_file(node):
            return ""
        return self.source.replaced(node, text)

    @property
    def source(self) -> Source | None:
        """Return the file of the failing expression."""
        return loaded(self.frame.filename) if self.frame is not None else None

    def is_in_file(self, node: Node) -> bool:
        """Tell whether a piece of syntax has its true place in the user's file, so that a diff may change it."""
        if self.frame is None or self.source is None:
            return False
        whole = self.source.syntax_at(span_of(self.frame.site))
        return whole is not None and whole is self.frame.node and holds(whole, node)

    @property
    def is_worth_trying(self) -> bool:
        """Tell whether the exception is of a kind that another shape or dtype may cure."""
        if self.frames[-1].is_at_raise_of_user:
            return False
        return isinstance(
            self.error, (RuntimeError, ValueError, IndexError, AssertionError, TypeError)
        ) and bool(self.callees or self.operands)

    @property
    def layer(self) -> nn.Module | None:
        """Return the innermost running module."""
        return self.modules[-1] if self.modules else None


def fill(case: Case, reexecution: Reexecution) -> Case:
    """Find the user's frame, its operands, the torch function below it, and the running modules."""
    frames = case.frames
    case.frame = blamed(frames)
    if case.frame is None:
        return case
    case.callees = below(frames, case.frame)
    get = case.best_effort.get
    get(None, case.names.learn, frames[-1].live)
    case.operands = get([], operands_of, case.frame, case.callees)
    case.op, case.inputs = get((None, []), inputs_of, case.callees)
    case.modules = get([], running_modules, frames)
    case.builder = get(None, _builder, case)
    get(None, _see_operations, case, reexecution)
    case.call = get(None, failed_call, case.frame, case.callees)
    case.is_loss = get(None, loss_arguments, case) is not None
    return case


def _builder(case: Case) -> Builder | None:
    files = [one.filename for one in reversed(case.frames) if one.layer == "user"]
    return Builder(case.names, files)


def _see_operations(case: Case, reexecution: Reexecution) -> None:
    """Take the operations that the microscope saw; if it was off, run the model call again under it."""
    microscope = case.microscope
    if microscope.is_on:
        case.operations = microscope.operations()
        begins = [began for began, _ in microscope.forwards]
        if begins:
            case.operations = [one for one in case.operations if one.order > begins[-1]]
    elif not case.caught:
        repeated = reexecution.of(case.error, case.frames)
        if repeated is not None:
            frames, case.operations = repeated
            user = blamed(frames)
            case.op, case.inputs = (
                inputs_of(below(frames, user)) if user is not None else (case.op, case.inputs)
            )
