"""A standstill → a finding. It is an error only if the records of the ranks prove that they cannot go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from torchwhy.detect.hangs.hang_lines import lines_of
from torchwhy.detect.hangs.parting import parting_of
from torchwhy.detect.hangs.standing_places import Place, place_of, shown
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, SourceSpan, advice_of
from torchwhy.record.standing.collective_log import Call, Calls
from torchwhy.record.standing.standstill import Standstill

SAME_SIZE = ("all_reduce", "broadcast", "reduce")  # Their tensors must agree among the ranks.


class CollectivesDiffer(Diagnosis):
    """Two ranks called different collectives as the same one of their sequence."""

    number: int
    ranks: list[int]
    names: list[str]
    places: list[str]
    message = (
        "the ranks call different collectives: number {number} is `{names[0]}` at {places[0]} on rank {ranks[0]} "
        "and `{names[1]}` at {places[1]} on rank {ranks[1]}"
    )
    advice = "let all ranks call the same collectives in the same order"


class SizesDiffer(Diagnosis):
    """Two ranks gave tensors of different size or type to the same collective."""

    number: int
    name: str
    ranks: list[int]
    given: list[str]
    places: list[str]
    message = (
        "the ranks give different tensors to `{name}`, collective number {number}: {given[0]} at {places[0]} on rank "
        "{ranks[0]}, {given[1]} at {places[1]} on rank {ranks[1]}"
    )
    advice = "give a tensor of the same size and type on every rank"


class RankEnded(Diagnosis):
    """A rank waits in a collective for a rank that has ended."""

    rank: int
    called: str
    place: str
    ended: int
    message = "rank {rank} waits in `{called}` {place} for rank {ended}, which has ended"
    advice = "let every rank make the same number of collectives before it ends"


class EachWaits(Diagnosis):
    """One rank waits in its backward pass, another in a collective that the first has not called."""

    ranks: list[int]
    called: str
    places: list[str]
    loop: str
    message = (
        "rank {ranks[0]} waits in the backward pass {places[0]}, rank {ranks[1]} in `{called}` {places[1]}: "
        "rank {ranks[1]} has left the loop {loop}, and each waits for the other"
    )
    advice = (
        "give every rank the same number of batches (DistributedSampler, drop_last=True), or train inside "
        "`with Join([model]):`; a batch that one rank skips, all must skip"
    )


class NobodyMoves(Diagnosis):
    """No process made a step for long, and nothing proves that it is a fault."""

    seconds: float
    last_step: int
    message = "no step was made for {seconds:.0f} s, after step {last_step}"
    headline = message

    @property
    def sentence(self) -> str:
        """Return when the last step was, if there was one."""
        if self.last_step >= 0:
            return super().sentence
        return f"no step was made in {self.seconds:.0f} s"


def finding_of(standstill: Standstill) -> Finding:
    """Return what is wrong, with where every process stands as evidence; a note if no fault is proven."""
    places = [place_of(one, standstill) for one in standstill.processes]
    name, diagnosis, at = next(
        _faults(standstill, places),
        ("hang", NobodyMoves(seconds=standstill.seconds, last_step=standstill.last_step), None),
    )
    is_note = isinstance(diagnosis, NobodyMoves)
    return Finding(
        detector=name,
        severity="note" if is_note else "error",
        diagnosis=diagnosis,
        step=standstill.last_step if standstill.last_step >= 0 else None,
        rank=next((one.rank for one in places if one.at == at and one.rank is not None), 0),
        location=at or next((one.at for one in places if one.at is not None), None),
        evidence=tuple(Evidence(line) for line in lines_of(standstill, places)),
        fixes=advice_of(diagnosis),
        effect="fault" if is_note else "training-broke",
    )


Fault = tuple[str, Diagnosis, SourceSpan | None]


def _faults(standstill: Standstill, places: Sequence[Place]) -> Iterator[Fault]:
    """Yield what proves that the ranks cannot go on, the most specific first."""
    ranks = [
        (standing, place)
        for standing, place in zip(standstill.processes, places, strict=True)
        if standing.rank is not None and standing.world_size > 1
    ]
    if not any(place.doing == "collective" for _, place in ranks):
        return
    yield from _mismatches([standing.calls for standing, _ in ranks if standing.calls is not None])
    for (one, mine), (other, theirs) in ((a, b) for a in ranks for b in ranks if a is not b):
        if mine.waits_for_ranks and theirs.doing == "ended" and theirs.made < (mine.number or 0):
            diagnosis = RankEnded(
                rank=mine.rank or 0, called=mine.called, place=mine.where, ended=theirs.rank or 0
            )
            yield "hang", diagnosis, mine.at
        if mine.doing == "backward" and theirs.waits_for_ranks and mine.made < theirs.made:
            parting = parting_of(one, other, standstill)
            if parting is not None and parting.is_loop:
                loop = f"of {shown(parting.file, standstill)}:{parting.line}"
                yield "uneven-batches", _each_waits(mine, theirs, loop), mine.at


def _each_waits(mine: Place, theirs: Place, loop: str) -> EachWaits:
    return EachWaits(
        ranks=[mine.rank or 0, theirs.rank or 0],
        called=theirs.called,
        places=[mine.where, theirs.where],
        loop=loop,
    )


def mismatch_in(every: Sequence[Calls]) -> Finding | None:
    """Return what is wrong with the recorded collectives of ranks that have ended."""
    for name, diagnosis, at in _mismatches(every):
        return Finding(
            detector=name,
            severity="error",
            diagnosis=diagnosis,
            step=None,
            rank=every[0].rank,
            location=at,
            evidence=tuple(Evidence(line) for line in map(_last_call, every)),
            fixes=advice_of(diagnosis),
            effect="training-broke",
        )
    return None


def _last_call(calls: Calls) -> str:
    """Return how far a rank came with its collectives."""
    newest = calls.newest[-1] if calls.newest else None
    if newest is None:
        return f"rank {calls.rank}: made no collective"
    ended = "returned" if calls.returned == calls.made else "did not return"
    given = f" of {_given(newest)}" if newest.elements is not None else ""
    return (
        f"rank {calls.rank}: its last collective, number {newest.number}, is `{newest.name}`{given} at "
        f"{_spot(newest)}; it {ended}"
    )


def _mismatches(every: Sequence[Calls]) -> Iterator[Fault]:
    for one, other in combinations(every, 2):
        yield from _mismatch(one, other)


def _mismatch(one: Calls, other: Calls) -> Iterator[Fault]:
    """Yield the first collective that two ranks do not make alike."""
    theirs = {call.number: call for call in other.newest}
    ranks = [one.rank, other.rank]
    for call in one.newest:
        match = theirs.get(call.number)
        if match is None:
            continue
        spots, at = [_spot(call), _spot(match)], SourceSpan(call.file, call.line)
        if call.name != match.name:
            names = [call.name, match.name]
            diagnosis = CollectivesDiffer(
                number=call.number, ranks=ranks, names=names, places=spots
            )
            yield "collective-mismatch", diagnosis, at
            return
        if call.name in SAME_SIZE and _given(call) != _given(match):
            yield (
                "collective-mismatch",
                SizesDiffer(
                    number=call.number,
                    name=call.name,
                    ranks=ranks,
                    given=[_given(call), _given(match)],
                    places=spots,
                ),
                at,
            )
            return


def _spot(call: Call) -> str:
    return f"{call.file}:{call.line}" if call.line else "a library's line"


def _given(call: Call) -> str:
    return f"{call.elements} elements of {call.dtype}"
