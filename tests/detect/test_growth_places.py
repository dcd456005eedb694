"""Which statement grows a variable, and what bounds it, read off the source."""

from __future__ import annotations

import textwrap

import pytest

from torchwhy.detect.views.memory.growth_places import Places, places_of
from torchwhy.source.analyses.variable_uses import Variable
from torchwhy.source.edits import Source


@pytest.fixture
def look():
    def look(text: str, name: str, *, call: int | None = None, **facts: object) -> Places:
        source = Source("train.py", textwrap.dedent(text))
        running = tuple((source, line) for line in facts.pop("running", ()))
        variable = Variable(name, (source,), running=running, **facts)
        return places_of(variable, call=None if call is None else (source, call))

    return look


@pytest.mark.parametrize(
    "statement",
    [
        "kept.append(loss)",
        "kept += [loss]",
        "kept[step] = loss",
        "kept['loss'].append(loss)",
        "kept.setdefault(step, []).append(loss)",
        "kept = kept + loss",
        "out, kept = net(x, kept)",
    ],
)
def test_every_way_to_grow_is_found(look, statement):
    places = look(f"kept = start()\nfor step in range(9):\n    {statement}\n", "kept")

    assert places.grown_at.line == 3
    assert places.grown_at.expression == statement
    assert places.emptied_at is None
    assert places.read_at is None


def test_an_attribute_is_found_in_any_method(look):
    source = """
        class Meter:
            def __init__(self):
                self.sum = 0

            def update(self, value):
                self.sum += value
    """

    places = look(source, "meter.sum")

    assert places.grown_at.expression == "self.sum += value"
    assert places.emptied_at is None


def test_a_reset_that_somebody_calls_counts_and_one_in_the_constructor_does_not(look):
    source = """
        class Meter:
            def __init__(self):
                self.reset()

            def reset(self):
                self.sum = 0

            def update(self, value):
                self.sum += value

        meter = Meter()
        for epoch in range(3):
            {call}
    """

    assert look(source.format(call="pass"), "meter.sum").emptied_at is None


def test_a_called_reset_empties(look):
    source = """
        class Meter:
            def reset(self):
                self.sum = 0

            def update(self, value):
                self.sum += value

        meter = Meter()
        for epoch in range(3):
            meter.reset()
    """

    assert look(source, "meter.sum").emptied_at.expression == "self.sum = 0"


@pytest.mark.parametrize(
    "emptying", ["kept = []", "kept.clear()", "del kept[:]", "kept = kept[-5:]", "kept.pop(0)"]
)
def test_what_empties_in_the_same_loop_is_found(look, emptying):
    source = f"kept = []\nfor epoch in range(3):\n    {emptying}\n    for x in data:\n        kept.append(x)\n"

    assert look(source, "kept").emptied_at.line == 3


def test_emptying_after_the_loop_comes_too_late(look):
    source = "kept = []\nfor x in data:\n    kept.append(x)\nkept.clear()\n"

    assert look(source, "kept").emptied_at is None


def test_a_local_is_renewed_where_its_function_is_called_in_a_loop(look):
    source = """
        def epoch(data):
            total = 0
            for x in data:
                total += x
            return total
    """

    assert look(source, "total", line=2, called_in_loop=True).emptied_at.line == 3
    assert look(source, "total", line=2, called_in_loop=False).emptied_at is None


def test_the_loop_that_runs_now_is_meant(look):
    source = "total = 0\nfor x in train:\n    total += x\nfor x in validation:\n    total += x\n"

    assert look(source, "total", running=(3,)).grown_at.line == 3
    assert look(source, "total", running=(5,)).grown_at.line == 5


def test_a_local_of_the_same_name_is_another_variable(look):
    source = """
        def other():
            kept = []
            kept.append(1)

        kept = []
        for x in data:
            kept.append(x)
    """

    assert look(source, "kept").grown_at.line == 8


def test_asking_for_the_length_is_no_use_of_the_content(look):
    source = "kept = []\nfor x in data:\n    kept.append(x)\nprint(len(kept))\n"

    assert look(source, "kept").read_at is None
    assert look(source + "print(sum(kept))\n", "kept").read_at.line == 5


def test_what_is_read_after_the_collect_is_needed_and_what_was_read_before_is_not(look):
    source = (
        "kept = []\nfor x in data:\n    kept.append(x)\nall = cat(kept)\ngc.collect()\ntrain(all)\n"
    )

    assert look(source, "kept", call=5).read_later is False
    assert look(source + "train(kept)\n", "kept", call=5).read_later is True


def test_losses_on_their_way_to_a_backward_are_recognised(look):
    source = """
        losses = []
        for x in data:
            losses.append(loss(x))
        mean = stack(losses).mean()
        {end}
    """

    assert look(source.format(end="mean.backward()"), "losses").feeds_backward
    assert look(source.format(end="accelerator.backward(mean)"), "losses").feeds_backward
    assert not look(source.format(end="print(mean)"), "losses").feeds_backward


def test_a_returned_sum_is_followed_to_its_caller_only(look):
    source = """
        def total_loss():
            total = 0
            for x in data:
                total = total + criterion(x)
            return {value}

        def main():
            loss = total_loss()
            {end}

        def other():
            loss = criterion(1)
            loss.backward()
    """

    assert look(source.format(value="total", end="loss.backward()"), "total", line=2).feeds_backward
    assert not look(source.format(value="total", end="print(loss)"), "total", line=2).feeds_backward
    assert not look(
        source.format(value="total.item()", end="loss.backward()"), "total", line=2
    ).feeds_backward


def test_source_that_cannot_be_read_gives_no_place(look):
    assert look("this is not python", "kept") == Places()
