"""Is it the seed? The program runs twice more, as far as the rehearsal, with other seeds."""

from __future__ import annotations

from torchwhy.detect.checks.questions.learning.seed_luck import SLUG
from torchwhy.record.learning import Experiment
from torchwhy.record.run_file import read_traces
from torchwhy.rehearse.confined_rehearsal import Rehearsed, Stage
from torchwhy.rehearse.seed_courses import SeedCourse, course_of, unlucky

OTHER_SEEDS = (1_000_003, 2_000_003)  # Far from each other and from seeds that people write.


def compare_seeds(stage: Stage, rehearsed: Rehearsed) -> Experiment:
    """Return the courses of the loss with the program's seeds and with two others, or why there are none."""
    own = course_of(rehearsed.trace)
    if own is None:
        return _refused("the losses of the rehearsal do not show progress, or they are too few")
    needed = rehearsed.seconds * len(OTHER_SEEDS)
    if needed > stage.seconds_left:
        return _refused(f"two more runs would take about {needed:.0f} s, more than --limit leaves")
    courses = [own]
    for number, seed in enumerate(OTHER_SEEDS, start=1):
        course = _course(stage, rehearsed, seed, name=f"seed-{number}")
        if isinstance(course, str):
            return _refused(course)
        courses.append(course)
    return _answer(courses)


def _course(stage: Stage, rehearsed: Rehearsed, seed: int, *, name: str) -> SeedCourse | str:
    """Return the course with one seed, or why it does not show one."""
    place = stage.run_directory / name
    ended = stage.launch(place, stage.variant(other_seed=seed, stop_after_step=rehearsed.steps - 1))
    traces = read_traces(place)
    if ended.timed_out:
        return "a run with another seed did not end within --limit"
    course = course_of(traces[0]) if len(traces) == 1 else None
    return (
        course
        or f"a run with another seed ended with exit code {ended.exit_code} and shows no course"
    )


def _answer(courses: list[SeedCourse]) -> Experiment:
    outcomes = [one.outcome for one in courses]
    if "learnt" not in outcomes:
        shown = ", ".join(f"{one.first:.3g} → {one.last:.3g}" for one in courses)
        return _refused(f"the loss falls clearly with none of {len(courses)} seeds: {shown}")
    which = unlucky(courses)
    return Experiment(
        step=0,
        question=SLUG,
        answer={
            "first": [one.first for one in courses],
            "last": [one.last for one in courses],
            "unlucky": which,
            "learnt": outcomes.index("learnt"),
            "broke_at": None if which is None else courses[which].broke_at,
        },
    )


def _refused(reason: str) -> Experiment:
    return Experiment(step=0, question=SLUG, answer={"refused": reason})
