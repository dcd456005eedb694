from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.everyday import checkpoint_loading
from torchwhy.detect.rules.message_kinds import OptimizerStateMismatch, StateMismatch
from torchwhy.detect.views.crash.crash_evidence import sizes
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

# torch's own wrappers add these to the keys.
ADDED_BY = {
    "module.": "`nn.DataParallel` and `DistributedDataParallel` add it",
    "_orig_mod.": "`torch.compile` adds it",
}
UNWRAPPED = {
    "module.": "save `model.module.state_dict()`, which has the plain keys",
    "_orig_mod.": "save the state of the model that was not compiled, which has the plain keys",
}
AS_SAVED = "make the model with the same classes and arguments as when the state was saved"
PARTLY = "pass `strict=False` only if the missing parameters may keep their initial values"


class StateDiffers(Diagnosis):
    """The keys of a state are not those of the model that loads it."""

    expression: str
    state_keys: int
    model_keys: int
    shared: int
    missing: int
    missing_names: str
    surplus: int
    surplus_names: str
    fit_then: int  # keys of the model that fit if the state is changed as the diagnosis says
    message = "`{expression}` gets the state of another model: {shared} of the {model_keys} keys of the model are in it"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (AS_SAVED, PARTLY) if self.shared else (AS_SAVED,)

    def evidence(self) -> Iterator[Evidence]:
        if self.missing:
            words = f"{self.missing} keys of the model are not in the state: {self.missing_names}"
            yield Evidence(_cut(words, self.missing, self.missing_names), value=float(self.missing))
        if self.surplus:
            words = f"{self.surplus} keys of the state are not in the model: {self.surplus_names}"
            yield Evidence(_cut(words, self.surplus, self.surplus_names), value=float(self.surplus))


class StateWithin(StateDiffers):
    """The state of the model is one entry of the checkpoint."""

    key: str
    part: str | None  # that the keys of the entry have too much
    leads: bool
    message = (
        "`{expression}` gets a whole checkpoint: the state of the model is its entry {key!r}{but} "
        "({fit_then} of {model_keys} keys fit{then})"
    )

    @property
    def but(self) -> str:
        """Return a clause with the part of the keys that is too much."""
        return f", whose keys have `{self.part}` in them" if self.part is not None else ""

    @property
    def then(self) -> str:
        """Return under which condition the keys fit."""
        return " without it" if self.part is not None else ""

    @property
    def remedies(self) -> tuple[str, ...]:
        entry = f"load that entry: `checkpoint[{self.key!r}]`"
        if self.part is None:
            return (entry,)
        return (f"{entry}, with `{self.part}` removed from its keys",)


class KeysHavePart(StateDiffers):
    """The keys of the state have a part that those of the model have not."""

    part: str
    leads: bool
    message = (
        "the keys of the state have `{part}` in them, those of the model have not{why}: without it, {fit_then} of "
        "{model_keys} keys fit"
    )

    @property
    def why(self) -> str:
        """Return where the part comes from."""
        known = [words for part, words in ADDED_BY.items() if part in self.part]
        return f" ({' and '.join(known)})" if known else ""

    @property
    def remedies(self) -> tuple[str, ...]:
        change = "removeprefix" if self.leads else "replace"
        rest = "" if self.leads else ', ""'
        remove = f"remove it: `{{name.{change}({self.part!r}{rest}): value for name, value in state.items()}}`"
        return (remove, *(words for part, words in UNWRAPPED.items() if part in self.part))


class ModelHasPart(KeysHavePart):
    """The keys of the model have a part that those of the state have not."""

    message = (
        "the keys of the model have `{part}` in them, those of the state have not{why}: without it, {fit_then} of "
        "{model_keys} keys fit"
    )

    @property
    def remedies(self) -> tuple[str, ...]:
        inner = self.part.removesuffix(".")
        return (
            f"load the state into the model inside: `model.{inner}.load_state_dict(state)`, or before it is wrapped",
        )


class KeysRenamed(StateDiffers):
    """State and model have the same sizes in the same order under other names."""

    message = (
        "{missing} keys have other names in the state than in the model, but the same sizes in the same order: "
        "{surplus_names} for {missing_names}"
    )
    advice = "name the layers as when the state was saved, or rename the keys of the state"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (self.advice,)


class StateOfOtherSize(StateDiffers):
    """State and model have the same keys, some of them in other sizes."""

    key: str
    state_size: Shape
    model_size: Shape
    differing: int
    message = (
        "{key} is {in_state} in the state and {in_model} in the model{more}: the model was made with other sizes "
        "than the one that was saved"
    )

    @property
    def in_state(self) -> str:
        """Return the size in the state."""
        return sizes(self.state_size)

    @property
    def in_model(self) -> str:
        """Return the size in the model."""
        return sizes(self.model_size)

    @property
    def more(self) -> str:
        """Return a clause with the number of further ones."""
        rest = self.differing - 1
        return f" ({rest} more {'key differs' if rest == 1 else 'keys differ'})" if rest else ""

    @property
    def remedies(self) -> tuple[str, ...]:
        leave_out = (
            f"to train this layer anew, leave its keys out: delete them from the state (`del state[{self.key!r}]`) and "
            "pass `strict=False`, which alone does not allow other sizes"
        )
        return AS_SAVED, leave_out


class NotAState(Diagnosis):
    """Something else than a state was given."""

    expression: str
    type: str
    is_model: bool
    message = "`{expression}` gets {what} instead of a state"

    @property
    def what(self) -> str:
        """Return what was given."""
        return "a whole model" if self.is_model else f"a value of type {self.type}"

    @property
    def remedies(self) -> tuple[str, ...]:
        if self.is_model:
            return ("give it the model's state: `.state_dict()`",)
        return ("give it what `model.state_dict()` returned when it was saved",)


class OtherGroups(Diagnosis):
    """The state of an optimizer has other parameter groups than the optimizer."""

    optimizer: str
    state_groups: list[int]
    groups: list[int]
    message = "the state is of an optimizer with {saved}, but this {optimizer} has {present}"
    advice = (
        "make the optimizer from the same parameters in the same groups as when its state was saved; if the model has "
        "changed since, start with a fresh optimizer"
    )

    @property
    def saved(self) -> str:
        """Return the groups of the state."""
        return _in_words(self.state_groups)

    @property
    def present(self) -> str:
        """Return the groups of the optimizer."""
        return _in_words(self.groups)


class StateDictMismatch(Detector):
    """The keys or sizes of a saved state are not those of the model or optimizer that loads it."""

    name = "state-dict-mismatch"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            diagnosis = _diagnosed(crash)
            if diagnosis is not None:
                yield crash.finding(self.name, diagnosis, evidence=_evidence(crash))

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        place = finding.location
        match finding.diagnosis:
            case StateWithin(key=key, part=None):
                yield from checkpoint_loading.state_inside(place, source, key=key)
            case StateWithin(key=key, part=str(part), leads=leads):
                yield from checkpoint_loading.without_part(
                    place, source, part=part, leads=leads, key=key
                )
            case ModelHasPart(part=part, leads=True):
                yield from checkpoint_loading.into_wrapped(place, source, part=part)
            case ModelHasPart():
                return
            case KeysHavePart(part=part, leads=leads):
                yield from checkpoint_loading.without_part(place, source, part=part, leads=leads)
            case NotAState(is_model=True):
                yield from checkpoint_loading.state_of_model(place, source)


def _diagnosed(crash: CrashView) -> Diagnosis | None:
    match crash.said:
        case OptimizerStateMismatch():
            return OtherGroups(
                optimizer=crash.fact("optimizer") or "optimizer",
                state_groups=crash.numbers("state_groups") or [],
                groups=crash.numbers("optimizer_groups") or [],
            )
        case StateMismatch():
            return _of_model(crash)
    return None


def _of_model(crash: CrashView) -> Diagnosis | None:
    type_given, is_model = crash.fact("state_type"), crash.has("state_is_model")
    if type_given is not None or is_model:
        return NotAState(
            expression=crash.expression, type=type_given or "Module", is_model=is_model
        )
    names = ("state_keys", "model_keys")
    if any(crash.count(name) is None for name in names):
        return None
    common: dict[str, Any] = {
        "expression": crash.expression,
        "missing_names": crash.fact("missing_names") or "",
        "surplus_names": crash.fact("surplus_names") or "",
        "shared": crash.count("shared_keys") or 0,
        "missing": crash.count("missing_keys") or 0,
        "surplus": crash.count("surplus_keys") or 0,
        "fit_then": crash.count("fit_then") or 0,
        **{name: crash.count(name) or 0 for name in names},
    }
    return _related(crash, common) or StateDiffers(**common)


def _related(crash: CrashView, common: dict[str, Any]) -> StateDiffers | None:
    """Return how the state is related to the model, if most of it fits after a change."""
    if (key := crash.fact("state_within")) is not None:
        part, leads = crash.fact("state_prefix"), crash.has("state_prefix_leads")
        return StateWithin(**common, key=key, part=part, leads=leads)
    if (part := crash.fact("state_prefix")) is not None:
        return KeysHavePart(**common, part=part, leads=crash.has("state_prefix_leads"))
    if (part := crash.fact("model_prefix")) is not None:
        return ModelHasPart(**common, part=part, leads=crash.has("model_prefix_leads"))
    if (key := crash.fact("odd_key")) is not None and not common["missing"]:
        return StateOfOtherSize(
            **common,
            key=key,
            state_size=crash.numbers("state_size") or [],
            model_size=crash.numbers("model_size") or [],
            differing=crash.count("odd_sizes") or 1,
        )
    return KeysRenamed(**common) if crash.has("renamed") else None


def _evidence(crash: CrashView) -> Iterator[Evidence]:
    made = crash.place("odd_layer")
    if made is not None:
        yield Evidence(f"the layer is made by `{made.expression}`", location=made)


def _cut(words: str, count: int, names: str) -> str:
    """Return a sentence that lists some of `count` names, with a sign if there are more."""
    return words if names.count(",") + 1 >= count else f"{words} …"


def _in_words(groups: list[int]) -> str:
    if not groups:
        return "other parameter groups"
    if len(groups) == 1:
        return f"{groups[0]} parameters"
    return f"{len(groups)} groups of {', '.join(map(str, groups))} parameters"
