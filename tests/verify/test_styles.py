"""Of faults with a local cure, in programs of many styles, at least four of five get a cure that was run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.run_fixes import run_fixes
from tests.support.run_program import kept_programs

STYLES = {
    "badly-scaled-initialisation/broken/initialised_by_apply",
    "channel-mismatch/broken/stage_by_widths",
    "clip-of-infinite-norm/broken/clipped_before_unscale",
    "dead-units/broken/bias_that_kills_the_units",
    "detached-graph/broken/loss_made_of_its_number",
    "evaluation-in-train-mode/broken/validated_in_train_mode",
    "graph-freed/broken/fake_not_detached_inline",
    "infeasible-ctc/broken/ctc_inside_a_model",
    "label-out-of-range/broken/one_class_too_few",
    "learning-rate-too-high/broken/rate_in_a_dataclass",
    "learning-rate-too-high/broken/rate_in_a_nested_dictionary",
    "learning-rate-too-high/broken/rate_in_another_file",
    "learning-rate-too-high/broken/rate_of_one_group",
    "log-of-nonpositive/broken/logarithm_in_a_closure",
    "missing-optimizer-step/broken/step_forgotten_in_a_trainer",
    "missing-zero-grad/broken/one_of_two_optimizers_not_cleared",
    "missing-zero-grad/broken/updated_by_hand_and_not_cleared",
    "momentum-too-high/broken/momentum_in_a_namespace",
    "nonfinite-data/broken/nan_in_batches_of_dictionaries",
    "ragged-last-batch/broken/state_for_full_batches",
    "retained-graph/broken/losses_added_up_in_an_attribute",
    "samples-mixed/broken/axes_by_a_function",
    "scheduler-misuse/broken/scheduler_in_the_epoch_function",
    "shared-state-dict-alias/broken/best_weights_in_a_dictionary",
    "stale-optimizer-parameters/broken/head_replaced_in_the_constructor",
    "training-in-eval-mode/broken/never_back_to_training",
    "unscaled-inputs/broken/raw_features_in_a_loader",
}
WANTED = 0.8


@pytest.mark.slow
def test_four_of_five_are_cured(tmp_path: Path) -> None:
    programs = [program for program in kept_programs("broken") if program.id in STYLES]

    fixed = run_fixes(programs, tmp_path)

    assert set(fixed) == STYLES
    uncured = [one.describe() for one in fixed.values() if one.cure is None]
    assert len(uncured) <= (1 - WANTED) * len(fixed), "\n\n".join(uncured)
