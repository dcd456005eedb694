from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.state.loads_take_effect import QUESTION
from torchwhy.detect.fixes.everyday import checkpoint_loading as loading
from torchwhy.detect.views.kept.checkpoint_entries import names_entry
from torchwhy.detect.views.kept.loaded_keys import Difference, difference_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.kept.kept_state import AverageMoved, CheckpointMet, CheckpointRead, StateLoaded
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import AliasLoaded
from torchwhy.source.calls import method_of
from torchwhy.source.edits import Source
from torchwhy.source.values import expression_of


class NothingMatches(Diagnosis):
    """No tensor of a state has the name and size of one of the module, and `strict=False` passes over it."""

    module: str
    given: int
    wanted: int
    given_name: str
    wanted_name: str
    where: Literal["state", "model"] | None
    part: str
    within: str | None
    message = (
        "nothing was loaded: the state has none of the {wanted} tensors of `{module}`, "
        "and strict=False passes over it{because}"
    )

    @property
    def because(self) -> str:
        """Return by what the names differ."""
        if self.within is not None:
            return f"; the tensors are in its entry {self.within!r}"
        if self.where is None:
            return ""
        return f"; names in the {self.where} begin with `{self.part}`"

    @property
    def remedies(self) -> tuple[str, ...]:
        """Return how to make the names fit."""
        if self.within is not None:
            change = f"load the entry {self.within!r}"
        elif self.where is not None:
            change = f"load it without `{self.part}`"
        else:
            change = "load the state of this model"
        return (f"{change}, with strict=True, which refuses what does not fit",)

    def evidence(self) -> Iterator[Evidence]:
        has = f"`{self.given_name}`" if self.given_name else "no tensor"
        yield Evidence(f"the state has {has}, the model has `{self.wanted_name}`", value=0.0)


class OwnStateLoaded(Diagnosis):
    """A module loads the tensors that it has, so nothing changes."""

    module: str
    tensors: int
    message = "`{module}` loads its own state: all {tensors} tensors are those that it has already"
    advice = "load the state that you mean; if entries of another one were put in, none of their names fit"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"all {self.tensors} tensors of the state lie in the memory of the model",
            value=float(self.tensors),
        )


class SameModule(OwnStateLoaded):
    """Two names stand for one module, and it loads its own state."""

    taker: str
    giver: str
    message = "`{taker}` is `{giver}`, not a copy of it: loading the state of one into the other changes nothing"
    advice = "make a copy: `{taker} = copy.deepcopy({giver})`"


class NeverLoaded(Diagnosis):
    """The program reads weights that fit the model, and trains the model without them."""

    model: str
    fits: int
    parameters: int
    compared: int
    message = "the weights that are read here never reach `{model}`: it trains from other ones"
    advice = "pass them to `load_state_dict` of the model that trains"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"names and sizes of {self.fits} of its {self.parameters} parameters are in the file, "
            "and no module loads them",
            value=float(self.fits),
        )
        yield Evidence(
            f"before the first step none of the {self.compared} parameters that were compared had their values"
        )


class LoadedIntoAnother(NeverLoaded):
    """The model into which the weights were loaded no longer exists when training begins."""

    message = (
        "the weights that are read here were loaded into a model that no longer exists: "
        "`{model}` trains from other ones"
    )
    advice = "load them after the model is made that trains"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"names and sizes of {self.fits} of the {self.parameters} parameters of `{self.model}` are in the file",
            value=float(self.fits),
        )
        yield Evidence(
            f"before the first step none of the {self.compared} parameters that were compared had their values"
        )


class LoadWithoutEffect(Detector):
    """A state is loaded, and the model stays as it was."""

    name = "load-without-effect"
    question = QUESTION

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from self._unmatched(trace)
        yield from self._own(trace)
        yield from self._never_loaded(trace)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case NothingMatches(within=str(key)):
                yield from loading.state_inside(finding.location, source, key=key)
            case NothingMatches(where="state", part=part):
                yield from loading.without_part(finding.location, source, part=part, leads=True)
            case NothingMatches(where="model", part=part):
                yield from loading.into_wrapped(finding.location, source, part=part)

    def _unmatched(self, trace: Trace) -> Iterator[Finding]:
        seen: set[SourceSpan | None] = set()
        # A program may load one state into several modules, or try several names until one fits.
        fitting = {
            key for one in trace.of(StateLoaded) if one.fits for key in (one.kind, one.location)
        }
        for load in trace.of(StateLoaded):
            if load.strict or load.fits or load.location in seen:
                continue
            if load.kind in fitting or load.location in fitting:
                continue
            seen.add(load.location)
            found = difference_of(load.given_names, load.wanted_names) or Difference(None, "")
            diagnosis = NothingMatches(
                module=load.kind,
                given=load.given,
                wanted=load.wanted,
                given_name=next(iter(load.given_names), ""),
                wanted_name=next(iter(load.wanted_names), ""),
                where=found.where,
                part=found.part,
                within=load.within,
            )
            yield self.found(
                trace, diagnosis, severity="error", step=load.step, location=load.location
            )

    def _own(self, trace: Trace) -> Iterator[Finding]:
        """Yield loads of the module's own state; what was taken at an earlier step is another cause."""
        kept = {one.location for one in trace.of(AliasLoaded)}
        seen: set[SourceSpan | None] = set()
        for load in trace.of(StateLoaded):
            is_own = load.fits and load.own == load.given >= load.fits and not load.written_since
            if not is_own or load.location in seen or load.location in kept:
                continue
            if _is_average(trace, load):
                continue  # See average-goes-wrong.
            seen.add(load.location)
            diagnosis = OwnStateLoaded(module=load.kind, tensors=load.given)
            taker, giver = _names_in(load)
            renamed = _renamed(trace, taker, giver)
            if renamed is not None:
                diagnosis = SameModule(**vars(diagnosis), taker=taker, giver=giver)
            repeated = len({o.step for o in trace.of(StateLoaded) if o.location == load.location})
            is_meant = not _leaves_unused(trace, load) and repeated < 2
            yield self.found(
                trace,
                diagnosis,
                severity="note" if is_meant else "warning",
                step=load.step,
                location=renamed or load.location,
            )

    def _never_loaded(self, trace: Trace) -> Iterator[Finding]:
        reads = {one.index: one for one in trace.of(CheckpointRead)}
        seen: set[int] = set()
        for met in trace.of(CheckpointMet):
            read = reads.get(met.read)
            is_whole = met.fits == met.parameters and met.compared and not met.equal
            if read is None or not is_whole or met.read in seen:
                continue
            kind = {"never": NeverLoaded, "gone": LoadedIntoAnother}.get(met.applied)
            if kind is None or _is_of_earlier_training(trace, read, met):
                continue
            if met.applied == "gone" and read.step:
                continue  # The best weights of a model that was trained before, loaded for its test.
            if met.applied == "never" and not _is_meant(trace, met):
                continue
            seen.add(met.read)
            diagnosis = kind(
                model=met.model,
                fits=met.fits,
                parameters=met.parameters,
                compared=met.compared,
            )
            yield self.found(
                trace,
                diagnosis,
                severity="warning" if met.applied == "never" else "note",
                step=met.step,
                location=read.location,
            )


def _names_in(load: StateLoaded) -> tuple[str, str]:
    """Return `target` and `net` of `target.load_state_dict(net.state_dict())`, nothing for other calls."""
    text = load.location.expression if load.location is not None else None
    call = expression_of(text or "")
    taken = method_of(call, "load_state_dict")
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    giver = method_of(given, "state_dict")
    if taken is None or giver is None:
        return "", ""
    return ast.unparse(taken[1]), ast.unparse(giver[1])


def _renamed(trace: Trace, taker: str, giver: str) -> SourceSpan | None:
    """Return the statement that gives a module its second name: `target = net`."""
    for source in trace.files.values() if taker != giver else ():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Assign) and ast.unparse(node.value) in (taker, giver):
                names = {ast.unparse(target) for target in node.targets}
                if names & ({taker, giver} - {ast.unparse(node.value)}):
                    return source.span(node)
    return None


def _is_meant(trace: Trace, met: CheckpointMet) -> bool:
    """Tell whether the program means to use the weights: the file is nothing else, or its text names their entry."""
    return not met.key or names_entry(trace, met.key)


def _is_average(trace: Trace, load: StateLoaded) -> bool:
    """Tell whether a module that loads its own state is a copy of one that trains."""
    return any(
        one.location is not None
        and load.location is not None
        and one.location.line == load.location.line
        for one in trace.of(AverageMoved)
    )


def _leaves_unused(trace: Trace, load: StateLoaded) -> bool:
    """Tell whether the program had read weights before that no module loads."""
    used = {one.read for one in trace.of(StateLoaded)}
    return any(
        read.step <= load.step and read.index not in used
        for read in trace.of(CheckpointRead)
        if any(entry.kind == "weights" for entry in read.entries)
    )


def _is_of_earlier_training(trace: Trace, read: CheckpointRead, met: CheckpointMet) -> bool:
    """Tell whether other steps were made between reading a file and the first step of an optimizer.

    A program that trains several models one after another may read the best one's file for a number in it.
    """
    return any(read.step <= step.step < met.step for step in trace.steps)
